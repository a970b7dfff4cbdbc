// Profile types `name:sample_type:sample_unit:period_type:period_unit`: which one a short word of a link means, which
// short word says one, and which is shown when nothing is said. The server knows more forms; what is not found here is
// handed to it as it stands.

export interface ProfileType {
  readonly full: string;
  readonly name: string;
  readonly sample: string;
  readonly unit: string;
}

export function readType(full: string): ProfileType {
  const [name = "", sample = "", unit = ""] = full.split(":");
  return { full, name, sample, unit };
}

export function isTime(unit: string): boolean {
  return /^(nano|micro|milli)?seconds$/.test(unit);
}

/** Names that mean one sample type of one profile. */
const WORDS: Readonly<Record<string, (type: ProfileType) => boolean>> = {
  cpu: (type) => type.sample === "cpu" && isTime(type.unit),
  mutex: (type) => type.name === "mutex" && type.sample === "delay",
  block: (type) => type.name === "block" && type.sample === "delay",
};

/** What is shown first, best first. */
const FIRST = ["cpu", "wall", "inuse_space", "alloc_space", "mutex", "block"];

function meant(word: string, types: readonly ProfileType[]): ProfileType[] {
  const exact = types.filter((type) => type.full === word);
  if (exact.length > 0) return exact;
  const rule = WORDS[word] ?? ((type: ProfileType) => type.sample === word);
  return types.filter(rule);
}

/** The type that a link's word means among those that a service has; null when none or several do. */
export function findType(word: string, types: readonly string[]): ProfileType | null {
  const found = meant(word, types.map(readType));
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** The shortest word that means this type among `types`, else the type in full. */
export function shortType(full: string, types: readonly string[]): string {
  const all = types.map(readType);
  const type = readType(full);
  for (const word of ["cpu", "mutex", "block", type.sample]) {
    const found = meant(word, all);
    if (found.length === 1 && found[0]?.full === full) return word;
  }
  return full;
}

/** The type to begin with: the best word that any type has; of several that it means the one that comes most often. */
export function defaultType(types: readonly string[]): ProfileType | null {
  const counts = new Map<string, number>();
  for (const full of types) counts.set(full, (counts.get(full) ?? 0) + 1);
  const known = [...counts.keys()].map(readType);
  for (const word of FIRST) {
    const [first, ...others] = meant(word, known);
    if (!first) continue;
    const count = (type: ProfileType) => counts.get(type.full) ?? 0;
    return others.reduce((best, type) => (count(type) > count(best) ? type : best), first);
  }
  return known[0] ?? null;
}
