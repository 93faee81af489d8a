import assert from "node:assert/strict";
import { test } from "node:test";
import { bits, floats, type KernelData } from "../src/data";
import { heats, nextWrong, valuesOf } from "../src/heat";
import { fieldName, Model } from "../src/model";
import { firstState } from "../src/store";

const packed = (...bytes: number[]): string => btoa(String.fromCharCode(...bytes));

/**
 * A 2 x 2 product by one wave of two lanes, k from 0 to 3, two a step. Lane i has row i of A and column i of B, a k
 * a register; register j of lane i is C[j][i]. In the second step lane 1 has A[1][3] and A[1][2] exchanged.
 */
function small(): KernelData {
  const line = { axes: [2, 2, 1] as const, bits: 32 };
  const a = { ...line, row: [0, 0, 1, 1], col: [0, 1, 0, 1] };
  const b = { ...line, row: [0, 1, 0, 1], col: [0, 0, 1, 1] };
  const exchanged = { ...line, row: [0, 0, 1, 1], col: [0, 1, 1, 0] };
  const zero = [0, 0, 0, 0, 0, 0];
  const site = {
    number: 0,
    place: {},
    title: "v_wmma at k.hip:9",
    times: [2, 2] as const,
    wrong: {},
    lost: "",
  };
  return {
    schema: "layoutprobe.kernel/1",
    kernel: "k",
    target: "gfx1151",
    size: "M=2",
    summary: "",
    judged: true,
    sites: [site],
    moments: {
      groups: [[0, 0, 0]],
      leftOut: 0,
      shapes: { A: [2, 4], B: [4, 2], C: [2, 2] },
      layouts: [a, b, exchanged],
      masks: ["0000", "1111", "0011"],
      rows: {
        group: zero,
        wave: zero,
        site: zero,
        iteration: [1, 1, 1, 0, 0, 0],
        turn: [1, 1, 1, 0, 0, 0],
        matrix: [0, 1, 2, 0, 1, 2],
        product: zero,
        held: [2, 1, 1, 0, 1, 1],
        held_row: [0, 2, 0, 0, 0, 0],
        held_col: [2, 0, 0, 0, 0, 0],
        needed: [0, 1, 1, 0, 1, 1],
        needed_row: [0, 2, 0, 0, 0, 0],
        needed_col: [2, 0, 0, 0, 0, 0],
        wrong: [2, 0, 0, 0, 0, 0],
        live: [1, 1, 1, 1, 1, 1],
      },
      registers: [
        { site: 0, matrix: "A", kind: "VGPR", first: 72, count: 2 },
        { site: 0, matrix: "C", kind: "AccVGPR", first: 4, count: 2 },
      ],
    },
    output: null,
    noOutput: "",
    findings: [],
    sources: [],
    timeline: null,
    held: null,
    opened: { matrix: null, site: null, iteration: null, group: null, wave: null },
  };
}

test("steps of a wave come in its order, and know what is wrong", () => {
  const steps = new Model(small()).steps(0, 0);
  assert.deepEqual(
    steps.map(({ turn, iteration, wrong }) => [turn, iteration, wrong]),
    [
      [0, 0, false],
      [1, 1, true],
    ],
  );
  assert.equal(steps[1]?.operands.A?.countWrong, 2);
  assert.equal(steps[1]?.operands.B?.countWrong, 0);
});

test("a slot is counted lane by lane, and back", () => {
  const operand = new Model(small()).steps(0, 0)[1]?.operands.A;
  assert.ok(operand);
  assert.deepEqual(operand.slot(3), { matrix: "A", lane: 1, vgpr: 1, field: 0 });
  for (let flat = 0; flat < 4; flat++) assert.equal(operand.flat(operand.slot(flat)), flat);
  assert.deepEqual(operand.held(2), { row: 1, col: 3 });
  assert.deepEqual(operand.needed(2), { row: 1, col: 2 });
});

test("an element of C is made by its lane, of products over all k", () => {
  const model = new Model(small());
  for (const [row, col] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const [maker, ...others] = model.makers({ row, col }, 0);
    assert.ok(maker);
    assert.equal(others.length, 0);
    assert.deepEqual([maker.slot.lane, maker.slot.vgpr], [col, row]);
    const parts = model.contributions(maker, { row, col });
    assert.deepEqual(
      parts.map(({ k }) => k),
      [0, 1, 2, 3],
    );
    assert.deepEqual(
      parts.map(({ right }) => right),
      row === 1 ? [true, true, false, false] : [true, true, true, true],
    );
    const held = row === 1 ? [0, 1, 3, 2] : [0, 1, 2, 3];
    assert.deepEqual(
      parts.map(({ heldA }) => heldA),
      held.map((k) => ({ row, col: k })),
    );
    assert.deepEqual(
      parts.map(({ heldB }) => heldB),
      [0, 1, 2, 3].map((k) => ({ row: k, col })),
    );
  }
  assert.deepEqual(model.makers({ row: 5, col: 5 }, 0), []);
  assert.deepEqual(model.makers({ row: 0, col: 0 }, 1), [], "of another product of a batch");
});

test("an accumulator that is stored elsewhere is followed by what belongs there", () => {
  const data = small();
  const rows = { ...data.moments.rows, held_row: [0, 2, 4, 0, 0, 4] };
  const model = new Model({ ...data, moments: { ...data.moments, rows } });
  const [maker] = model.makers({ row: 5, col: 0 }, 0);
  assert.deepEqual(maker?.belongs, { row: 1, col: 0 });
  assert.ok(maker);
  assert.equal(model.contributions(maker, { row: 5, col: 0 }).length, 4);
});

/** The same with its second step by another instruction, as a loop that was unrolled has it. */
function unrolled(register: number): Model {
  const { moments, ...data } = small();
  const registers = [
    ...moments.registers,
    { site: 1, matrix: "C" as const, kind: "AccVGPR", first: register, count: 2 },
  ];
  const rows = { ...moments.rows, site: [1, 1, 1, 0, 0, 0], iteration: [0, 0, 0, 0, 0, 0] };
  const sites = data.sites.flatMap((site) => [site, { ...site, number: 1 }]);
  return new Model({ ...data, sites, moments: { ...moments, rows, registers } });
}

test("instructions that add to one register make one sum; other registers make others", () => {
  const [maker, ...others] = unrolled(4).makers({ row: 0, col: 0 }, 0);
  assert.ok(maker);
  assert.equal(others.length, 0);
  assert.equal(unrolled(4).contributions(maker, { row: 0, col: 0 }).length, 4);
  assert.deepEqual(
    unrolled(6)
      .makers({ row: 0, col: 0 }, 0)
      .map(({ steps }) => steps.length),
    [1, 1],
  );
});

test("an execution that adds elements where no more k belong is told", () => {
  const { moments, ...data } = small();
  const nothing = { axes: [2, 2, 1] as const, bits: 32, row: [-1, -1, -1, -1], col: [-1, -1, -1, -1] };
  const layouts = [...moments.layouts, nothing];
  const needed = [3, 3, 1, 0, 1, 1];
  for (const [wrong, steps] of [
    [[1, 1, 0, 0, 0, 0], [1]],
    [[1, 0, 0, 0, 0, 0], []],
  ] as const) {
    const rows = { ...moments.rows, needed, wrong: [...wrong] };
    const model = new Model({ ...data, moments: { ...moments, layouts, rows } });
    const [maker] = model.makers({ row: 0, col: 0 }, 0);
    assert.ok(maker);
    assert.deepEqual(
      model.beyond(maker).map(({ turn }) => turn),
      steps,
    );
  }
});

test("registers have their names", () => {
  const model = new Model(small());
  assert.equal(model.register(0, "A", 1, 32), "v73");
  assert.equal(model.register(0, "C", 1, 32), "a5");
  assert.equal(model.register(0, "C", 1, 64), "a[6:7]");
  assert.deepEqual([fieldName(0, 1, 32), fieldName(1, 2, 16), fieldName(3, 4, 8)], ["", "hi", "31:24"]);
});

test("a page opens at what is wrong, or where it was asked to", () => {
  const data = small();
  assert.deepEqual([firstState(new Model(data)).step, firstState(new Model(data)).matrix], [1, "A"]);
  const opened = { ...data.opened, iteration: 0, matrix: "B" as const };
  const state = firstState(new Model({ ...data, opened }));
  assert.deepEqual([state.step, state.matrix], [0, "B"]);
});

test("numbers are little-endian, and bits begin with the lowest", () => {
  assert.deepEqual([...floats(packed(0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc1))], [1, -10]);
  assert.deepEqual([...bits(packed(0b1000_0101, 0b10), 10)], [1, 0, 1, 0, 0, 0, 0, 1, 0, 1]);
});

test("what is further off is redder, and what is right is not red", () => {
  const one = (value: number): number[] => [...new Uint8Array(new Float32Array([value]).buffer)];
  const values = valuesOf({
    name: "C",
    axes: [2, 2],
    rows: 2,
    observed: packed(...one(100), ...one(101), ...one(0), ...one(Number.NaN)),
    expected: packed(...one(100), ...one(100), ...one(100), ...one(100)),
    wrong: packed(0b1110),
    undefined: packed(0),
  });
  const [right, near, far, nan] = heats(values);
  assert.equal(right, 0);
  assert.ok((near ?? 0) >= 0.3 && (near ?? 0) < (far ?? 0));
  assert.equal(far, 1);
  assert.equal(nan, 1);
  assert.deepEqual(
    [-1, 1, 2, 3].map((from) => nextWrong(values, from)),
    [1, 2, 3, 1],
  );
  assert.equal(nextWrong({ ...values, wrong: new Uint8Array(4) }, 0), -1);
});
