// Which part of which file a part of the services model comes from, so that findings name what the user wrote.

import type { Path } from '../../config/mistakes.js';
import type { FolderDocument } from './document.js';
import type { Origin } from './models.js';

export interface Source {
  document: FolderDocument;
  path: Path;
}

export class Origins {
  readonly #sources = new Map<string, Source>();

  /** Remembers parts below `prefix` of the model, which come from below `base` of the document. */
  of(document: FolderDocument, prefix: Path = [], base: Path = []): Origin {
    return (part, source) => {
      this.#sources.set(JSON.stringify([...prefix, ...part]), { document, path: [...base, ...source] });
    };
  }

  /** Source of a part, or of the smallest part around it that has one. */
  sourceOf(path: Path): Source | undefined {
    for (let length = path.length; length > 0; length--) {
      const source = this.#sources.get(JSON.stringify(path.slice(0, length)));
      if (source !== undefined) return source;
    }
    return undefined;
  }
}
