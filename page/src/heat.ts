// A map of an output: which elements are wrong, and how far. Pure figures, to be drawn on a canvas.

import { bits, floats, type Output } from "./data";

export interface Values {
  readonly rows: number;
  readonly cols: number;
  /** Rows of one product of a batch. */
  readonly rowsEach: number;
  readonly observed: Float32Array;
  readonly expected: Float32Array;
  readonly wrong: Uint8Array;
  readonly undefined: Uint8Array;
  readonly count: number;
}

export function valuesOf(output: Output): Values {
  const [rows, cols] = output.axes;
  const wrong = bits(output.wrong, rows * cols);
  return {
    rows,
    cols,
    rowsEach: output.rows,
    observed: floats(output.observed),
    expected: floats(output.expected),
    wrong,
    undefined: bits(output.undefined, rows * cols),
    count: wrong.reduce((sum, bit) => sum + bit, 0),
  };
}

/** How red an element is: 0 where it is right, else from 0.3 (hardly off) to 1 (off by the largest value or more). */
export function heats(values: Values): Float32Array {
  const largest = values.expected.reduce(
    (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
    0,
  );
  return values.wrong.length === 0
    ? new Float32Array()
    : Float32Array.from(values.wrong, (bit, at) => {
        if (bit === 0) return 0;
        const error = Math.abs((values.observed[at] ?? 0) - (values.expected[at] ?? 0));
        const share = error / (largest || 1);
        const steps = Number.isFinite(share) ? Math.log10(Math.max(share, 1e-4)) : 0;
        return 0.3 + 0.7 * Math.max(0, Math.min(1, 1 + steps / 4));
      });
}

/** The next wrong element behind one, around to the first; -1: none. */
export function nextWrong(values: Values, from: number): number {
  for (let by = 1; by <= values.wrong.length; by++) {
    const at = (from + by) % values.wrong.length;
    if (values.wrong[at]) return at;
  }
  return -1;
}

export function shown(value: number | undefined): string {
  return value === undefined ? "" : String(Number(value.toPrecision(7)));
}
