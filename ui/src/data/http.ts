// The only module that asks the server. Every request takes an AbortSignal, goes to the origin that the page came from,
// and fails with the server's own words.

export type Query = Readonly<Record<string, string | number | null | undefined | readonly string[]>>;

export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    /** 0 when no answer came at all. */
    readonly status: number,
    message: string,
    readonly code: string,
    readonly field: string | null,
    /** What was asked, to be copied into a report. */
    readonly request: string,
    readonly retryAfter_s: number | null,
  ) {
    super(message);
  }
}

let onServerTime: (instant: number) => void = () => undefined;

/** Who wants to know what the server's clock shows, to a second, whenever it answers. */
export function hearServerTime(listener: (instant: number) => void): void {
  onServerTime = listener;
}

const base = typeof document === "undefined" ? "http://localhost/" : document.baseURI;

/** The whole address of an operation; parameters without a value are left out. */
export function address(path: string, query: Query): string {
  const url = new URL(path, new URL(".", base));
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [String(value)]) {
      url.searchParams.append(name, one);
    }
  }
  return url.href;
}

async function failure(response: Response, request: string): Promise<ApiError> {
  const retry = Number(response.headers.get("retry-after"));
  const retryAfter_s = Number.isFinite(retry) && retry > 0 ? retry : null;
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text) as { code?: unknown; message?: unknown; field?: unknown };
    if (typeof body.message === "string") {
      const field = typeof body.field === "string" ? body.field : null;
      return new ApiError(response.status, body.message, String(body.code ?? ""), field, request, retryAfter_s);
    }
  } catch {
    // Not our JSON: a proxy, or a path that is not ours. Its text is shown as it is.
  }
  const message = text.trim().slice(0, 2000) || response.statusText;
  return new ApiError(response.status, message, "", null, request, retryAfter_s);
}

async function ask(path: string, query: Query, accept: string, signal: AbortSignal): Promise<Response> {
  const url = address(path, query);
  let response: Response;
  try {
    response = await fetch(url, { signal, headers: { accept }, credentials: "same-origin" });
  } catch (error) {
    if (signal.aborted) throw error;
    const words = error instanceof Error ? error.message : String(error);
    throw new ApiError(0, words, "unreachable", null, url, null);
  }
  const serverTime = Date.parse(response.headers.get("date") ?? "");
  if (!Number.isNaN(serverTime)) onServerTime(serverTime);
  if (!response.ok) throw await failure(response, url);
  return response;
}

export interface Answer<T> {
  readonly data: T;
  /** From the question to the last byte. */
  readonly took_ms: number;
  readonly bytes: number;
}

async function timed<T>(read: () => Promise<{ data: T; bytes: number }>): Promise<Answer<T>> {
  const began = performance.now();
  const { data, bytes } = await read();
  return { data, bytes, took_ms: performance.now() - began };
}

/** Whole numbers that a double cannot hold stay exact where the browser shows a number's text, else they are rounded. */
function exactly(text: string): unknown {
  type Source = { readonly source?: string } | undefined;
  const revive = (_: string, value: unknown, context: Source) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context?.source ?? "")
      : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

export function getJson<T>(path: string, query: Query, signal: AbortSignal): Promise<Answer<T>> {
  return timed(async () => {
    const text = await (await ask(path, query, "application/json", signal)).text();
    return { data: exactly(text) as T, bytes: text.length };
  });
}

export function getBytes(
  path: string,
  query: Query,
  accept: string,
  signal: AbortSignal,
): Promise<Answer<ArrayBuffer>> {
  return timed(async () => {
    const data = await (await ask(path, query, accept, signal)).arrayBuffer();
    return { data, bytes: data.byteLength };
  });
}

/** A file of the page itself, as text. */
export async function getFile(path: string, signal: AbortSignal): Promise<string> {
  return (await ask(path, {}, "*/*", signal)).text();
}
