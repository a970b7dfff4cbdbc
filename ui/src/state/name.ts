// Long names of functions in narrow columns: which part may be cut. What tells functions apart stands at the end.

const LAST_PARTS = 2;

/** A name as the part that may be cut and the part that should stay: `cmd/compile/internal/` `gc.compileFunctions`. */
export function splitName(name: string): readonly [head: string, tail: string] {
  // Types and arguments may hold any separator; only what is before them is a path.
  const path = /^[^<({\s]*/.exec(name)?.[0] ?? "";
  const slash = path.lastIndexOf("/") + 1;
  // A method of Go: the type and the method stay, `shop/api.` goes.
  const method = /^[^(]*\.(?=\(\*?[^()]+\)\.)/.exec(name)?.[0];
  if (method) return [method, name.slice(method.length)];
  if (slash > 0) return [name.slice(0, slash), name.slice(slash)];
  for (const separator of ["::", "."]) {
    const parts = path.split(separator);
    if (parts.length <= LAST_PARTS || parts.some((part) => part === "")) continue;
    const head = parts.slice(0, -LAST_PARTS).join(separator) + separator;
    return [head, name.slice(head.length)];
  }
  return ["", name];
}
