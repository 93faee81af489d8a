import assert from "node:assert/strict";
import { test } from "node:test";
import { type Finding, ints, type LdsData, type TimelineData } from "../src/data";
import { shortened } from "../src/held";
import { contentsOf, crowding, dwordsOf, imageOf, NEVER, Timeline } from "../src/timeline";
import { RowTints, rowsOf } from "../src/tints";

const PC: Readonly<Record<string, number>> = { store: 16, barrier: 32, load: 48, matrix: 64 };

/** Two waves in turns, an instruction each: every wave stores, meets the other, loads, multiplies; twice. */
function twoWaves(body: readonly string[] = ["store", "barrier", "load", "matrix"]): TimelineData {
  const kinds = Object.keys(PC);
  const once = [...body, ...body];
  return {
    group: [0, 0, 0],
    code: kinds.map((kind) => ({ kind, text: kind, title: kind, place: { pc: PC[kind] ?? 0 } })),
    row: once.flatMap((_, at) => [2 * at, 2 * at + 1]),
    wave: once.flatMap(() => [0, 1]),
    inst: once.flatMap((kind) => [kinds.indexOf(kind), kinds.indexOf(kind)]),
    rows: 2 * once.length,
    cut: "",
    lds: null,
  };
}

function race(first: readonly [string, number], second: readonly [string, number]): Finding {
  const place = ([kind, wave]: readonly [string, number]) => ({
    pc: PC[kind] ?? 0,
    wave,
    workgroup: [0, 0, 0] as const,
  });
  const related = [{ role: "stored by", title: "", place: place(first) }];
  return { rule: "races/read-after-write", what: "", lines: [], place: place(second), related };
}

test("matrix instructions of a wave are its turns", () => {
  const timeline = new Timeline(twoWaves(), 0);
  assert.deepEqual([timeline.rowOf(0, 0), timeline.rowOf(1, 0), timeline.rowOf(1, 1)], [6, 7, 15]);
  assert.equal(timeline.rowOf(0, 2), null);
  assert.deepEqual(
    [0, 6, 13, 14, 99].map((row) => timeline.turnAt(0, row)),
    [0, 0, 0, 1, 1],
  );
  assert.equal(timeline.nearest(1, 6.5)?.row, 7);
  assert.equal(timeline.at(6)?.code.kind, "matrix");
});

test("a race is drawn where no barrier lies between its accesses", () => {
  // Load of wave 1, then store of wave 0 in the next pass: the barrier of that pass comes too late.
  const [found] = new Timeline(twoWaves(), 0).races([race(["store", 0], ["load", 1])]);
  assert.ok(found);
  assert.deepEqual([found.first.row, found.first.wave, found.second.row, found.second.wave], [5, 1, 8, 0]);
  assert.deepEqual([found.from, found.to], [2, 11]);
  const [without] = new Timeline(twoWaves(["store", "load", "matrix"]), 0).races([
    race(["store", 0], ["load", 1]),
  ]);
  assert.deepEqual([without?.first.row, without?.second.row, without?.to], [0, 3, 12]);
});

test("accesses with a barrier between them, or of one wave, are no race", () => {
  const once: TimelineData = { ...twoWaves(), ...first(twoWaves(), 8) };
  assert.deepEqual(new Timeline(once, 0).races([race(["store", 0], ["load", 1])]), []);
  assert.deepEqual(new Timeline(twoWaves(), 0).races([race(["store", 0], ["load", 0])]), []);
  const other = { ...race(["store", 0], ["load", 1]), rule: "waits/lds-before-wait" };
  assert.deepEqual(new Timeline(twoWaves(), 0).races([other]), []);
});

function first(data: TimelineData, count: number): Partial<TimelineData> {
  return { row: data.row.slice(0, count), wave: data.wave.slice(0, count), inst: data.inst.slice(0, count) };
}

const LDS: LdsData = {
  size: 64,
  banks: 4,
  row: [1, 3, 5],
  store: [1, 0, 1],
  bytes: [8, 2, 4],
  pattern: [0, 1, 1],
  patterns: [
    [0, 8, -1],
    [4, 20, 36],
  ],
  names: ["A[0][0]", "A[0][1]", "A[1][0]"],
  tensors: ["A"],
  lines: [
    [0, 0],
    [0, 0],
    [0, 1],
  ],
  first: [0, -1, 2],
  held: Buffer.from(Int32Array.from([0, 2, 0, 1, 0, 0, 2, 1, 0]).buffer).toString("base64"),
};

test("a dword holds what the lanes of its store put there", () => {
  const held = ints(LDS.held);
  const contents = (at: number) => [0, 1, 2, 3, 5, 9].map((dword) => contentsOf(LDS, held, at, dword));
  assert.deepEqual(contents(0), ["A[0][0]", "A[0][1]", "A[1][0]", "A[0][0]", "", ""]);
  assert.deepEqual(contents(1), ["", "", "", "", "", ""]);
  assert.deepEqual(contents(2), ["", "A[1][0]", "", "", "A[0][1]", "A[0][0]"]);
});

test("the last store before the moment is what lies in LDS, and each dword knows what", () => {
  const held = ints(LDS.held);
  const image = (before: number) => imageOf(LDS, held, before);
  const none = Array.from({ length: 16 }, () => NEVER);
  assert.deepEqual([[...image(1).writer], [...image(1).name]], [none, none]);
  assert.deepEqual([...image(5).writer].slice(0, 6), [0, 0, 0, 0, NEVER, NEVER]);
  assert.deepEqual([...image(5).name].slice(0, 6), [0, 1, 2, 0, NEVER, NEVER]);
  assert.deepEqual([...image(6).writer].slice(0, 6), [0, 2, 0, 0, NEVER, 2]);
  assert.deepEqual([...image(6).name].slice(0, 6), [0, 2, 2, 0, NEVER, 1]);
  assert.deepEqual([...imageOf({ ...LDS, first: [-1, -1, -1] }, held, 6).name], none);
});

test("elements of one row or column are shown as one", () => {
  const shown = {
    "A[0][3], A[1][3]": "A[0/1][3]",
    "q[0][2][4], q[0][2][5], q[0][2][6], q[0][2][7]": "q[0][2][4/5/6/7]",
    "A[0][3], A[1][4]": "A[0][3], A[1][4]",
    "A[0][3], B[0][4]": "A[0][3], B[0][4]",
    "from w[0][0], scale[0][0]": "from w[0][0], scale[0][0]",
    "bits 0-15: A[1][2]; bits 16-31: undefined": "bits 0-15: A[1][2]; bits 16-31: undefined",
    "sum over k 0-31 of row 3, column 5": "sum over k 0-31 of row 3, column 5",
    "no element": "no element",
    "A[5]": "A[5]",
  };
  for (const [name, short] of Object.entries(shown)) assert.equal(shortened(name), short);
});

test("rows of what was stored", () => {
  assert.deepEqual(rowsOf(LDS), [[0, 1]]);
  assert.deepEqual(rowsOf({ ...LDS, tensors: [], lines: [] }), []);
  const tints = new RowTints({
    names: ["", "A", "B", "B"],
    tensors: ["A", "B"],
    lines: [
      [-1, -1],
      [0, 7],
      [1, 0],
      [1, 3],
    ],
  });
  assert.deepEqual(
    [0, 1, 2, 3].map((name) => tints.of(name)),
    [null, { hue: 0, odd: true }, { hue: 0.5, odd: false }, { hue: 0.875, odd: true }],
  );
});

test("an access touches the dwords of its bytes, and banks as often as dwords of them differ", () => {
  assert.deepEqual(dwordsOf(LDS, 0), [0, 1, 2, 3]);
  assert.deepEqual(dwordsOf(LDS, 1), [1, 5, 9]);
  assert.deepEqual(crowding(LDS, 0).dwords, 1);
  assert.deepEqual(crowding(LDS, 1), { bank: 1, dwords: 3 });
});
