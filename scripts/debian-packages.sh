#!/usr/bin/env bash
# Installs Debian packages that vtime itself does not need: g++ and python3-simpy for bench/, chromium to look at a
# report. `scripts/debian-packages.sh g++` installs only that.
set -euo pipefail
packages=("$@")
if [[ ${#packages[@]} -eq 0 ]]; then
  packages=(g++ python3-simpy chromium)
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi
as_root=()
if [[ $EUID -ne 0 ]]; then
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q >&2
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
