// What the page is given: layoutprobe/render/kernel/data.py writes it, type by type.

export type Matrix = "A" | "B" | "C";
export const MATRICES: readonly Matrix[] = ["A", "B", "C"];
export type Group = readonly [number, number, number];

export interface Source {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** A place in a kernel, as every JSON report has it: see docs/gate.schema.json. */
export interface Place extends Source {
  readonly pc?: number;
  readonly instruction?: string;
  readonly near?: boolean;
  readonly inlined_at?: readonly (Source & { readonly function: string })[];
  readonly workgroup?: Group;
  readonly wave?: number;
  readonly lane?: number;
  readonly matrix?: string;
  readonly element?: { readonly matrix: string; readonly index: readonly number[] };
  readonly lds_byte?: number;
}

export interface Site {
  readonly number: number;
  readonly place: Place;
  readonly title: string;
  readonly times: readonly [number, number];
  readonly wrong: Readonly<Partial<Record<Matrix, string>>>;
  readonly lost: string;
}

/** Rows and columns of the element in every slot, counted from where the layout begins; -1 for none. */
export interface Layout {
  readonly axes: readonly [lanes: number, vgprs: number, fields: number];
  readonly bits: number;
  readonly row: readonly number[];
  readonly col: readonly number[];
}

export type Column =
  | "group"
  | "wave"
  | "site"
  | "iteration"
  | "turn"
  | "matrix"
  | "product"
  | "held"
  | "held_row"
  | "held_col"
  | "needed"
  | "needed_row"
  | "needed_col"
  | "wrong"
  | "live";

export interface Moments {
  readonly groups: readonly Group[];
  readonly leftOut: number;
  readonly shapes: Readonly<Record<Matrix, readonly [number, number]>>;
  readonly layouts: readonly Layout[];
  readonly masks: readonly string[];
  readonly rows: Readonly<Record<Column, readonly number[]>>;
  readonly registers: readonly {
    readonly site: number;
    readonly matrix: Matrix;
    readonly kind: string;
    readonly first: number;
    readonly count: number;
  }[];
}

/** An output beside what it should be; arrays are base64 of little-endian bytes, axes [row, col]. */
export interface Output {
  readonly name: string;
  readonly axes: readonly [number, number];
  readonly rows: number;
  readonly observed: string;
  readonly expected: string;
  readonly wrong: string;
  readonly undefined: string;
}

export interface Finding {
  readonly rule: string;
  readonly what: string;
  readonly lines: readonly (readonly [string, string])[];
  readonly place: Place;
  readonly related: readonly { readonly role: string; readonly title: string; readonly place: Place }[];
}

export interface SourceFile {
  readonly file: string;
  readonly lines: readonly (readonly [number, string])[];
}

/** An instruction that the timeline shows. */
export interface Code {
  readonly kind: string;
  readonly text: string;
  readonly title: string;
  readonly place: Place;
}

/** What registers and dwords may hold, once each. Of each name `lines` has the place in `tensors` and the row of its
 * first element; -1 both where there is none. */
export interface Contents {
  readonly names: readonly string[];
  readonly tensors: readonly string[];
  readonly lines: readonly (readonly [tensor: number, row: number])[];
}

/** What operands of matrix instructions held, where nothing (`why`) says what they should: the instruction's row, place
 * in `letters`, first register and how many; `held` is base64 of places in `names`, axes [register, lane], operand by
 * operand. */
export interface HeldData extends Contents {
  readonly why: string;
  readonly letters: readonly string[];
  readonly row: readonly number[];
  readonly letter: readonly number[];
  readonly register: readonly number[];
  readonly count: readonly number[];
  readonly firstAcc: number;
  readonly lanes: number;
  readonly held: string;
  readonly leftOut: number;
}

/** Accesses of LDS: row, 1 for a store, bytes of a lane, and a pattern: the byte of each lane, -1 for none. Of a
 * store `first` is its first dword in `held` (-1: not known), which is base64 of places in `names`, axes [dword, lane]. */
export interface LdsData extends Contents {
  readonly size: number;
  readonly banks: number;
  readonly row: readonly number[];
  readonly store: readonly number[];
  readonly bytes: readonly number[];
  readonly pattern: readonly number[];
  readonly patterns: readonly (readonly number[])[];
  readonly first: readonly number[];
  readonly held: string;
}

/** Events of one workgroup: row in the order of execution, wave, and place in `code`. */
export interface TimelineData {
  readonly group: Group;
  readonly code: readonly Code[];
  readonly row: readonly number[];
  readonly wave: readonly number[];
  readonly inst: readonly number[];
  readonly rows: number;
  readonly cut: string;
  readonly lds: LdsData | null;
}

export interface Opened {
  readonly matrix: Matrix | null;
  readonly site: number | null;
  readonly iteration: number | null;
  readonly group: Group | null;
  readonly wave: number | null;
}

export interface KernelData {
  readonly schema: string;
  readonly kernel: string;
  readonly target: string;
  readonly size: string;
  readonly summary: string;
  /** Operands and outputs are beside what they should be; not of a recording alone. */
  readonly judged: boolean;
  readonly sites: readonly Site[];
  readonly moments: Moments;
  readonly output: Output | null;
  readonly noOutput: string;
  readonly findings: readonly Finding[];
  readonly sources: readonly SourceFile[];
  readonly timeline: TimelineData | null;
  /** Of what is not judged. */
  readonly held: HeldData | null;
  readonly opened: Opened;
}

export const KERNEL = "layoutprobe.kernel/1";

/** Bytes of a base64 text. */
export function bytes(text: string): Uint8Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) out[at] = raw.charCodeAt(at);
  return out;
}

/** Whole numbers of a base64 text, whatever order of bytes this machine has. */
export function ints(text: string): Int32Array {
  const view = new DataView(bytes(text).buffer);
  return Int32Array.from({ length: view.byteLength / 4 }, (_, at) => view.getInt32(4 * at, true));
}

/** Numbers of a base64 text, whatever order of bytes this machine has. */
export function floats(text: string): Float32Array {
  const raw = bytes(text);
  const view = new DataView(raw.buffer);
  const out = new Float32Array(raw.length / 4);
  for (let at = 0; at < out.length; at++) out[at] = view.getFloat32(4 * at, true);
  return out;
}

/** Bits of a base64 text, lowest first. */
export function bits(text: string, count: number): Uint8Array {
  const raw = bytes(text);
  return Uint8Array.from({ length: count }, (_, at) => ((raw[at >> 3] ?? 0) >> (at & 7)) & 1);
}
