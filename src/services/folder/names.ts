// Names of a folder as names of the services schema.

import { label } from '../schema/values.js';

/** Gives each text a name of its own: the text where it is one, else the text with other characters replaced. */
export class Names {
  readonly #byText = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** The name of a text, the same each time. */
  of(text: string): string {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const name = this.fresh(text);
    this.#byText.set(text, name);
    return name;
  }

  /** A name that nothing has yet. */
  fresh(text: string): string {
    const plain = text.replace(/[^A-Za-z0-9_.@-]/g, '_').slice(0, 90);
    const base = label.safeParse(plain).success ? plain : `x_${plain}`;
    let name = base;
    for (let i = 2; this.#taken.has(name); i++) name = `${base}_${i}`;
    this.#taken.add(name);
    return name;
  }
}
