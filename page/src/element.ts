// One element of the output: the lane that made it, and the products over k that it is the sum of.

import { el, tableBehind } from "./dom";
import { shown, type Values } from "./heat";
import { type Contribution, type Element, elementName, type Maker } from "./model";
import type { Store } from "./store";

export function elementView(store: Store, name: string, values: Values): HTMLElement {
  const box = el("div", { class: "element", "aria-live": "polite" });
  let drawn: unknown;
  store.watch(() => {
    const { element } = store.state;
    if (element === drawn && box.childElementCount) return;
    drawn = element;
    if (element === null) {
      box.replaceChildren(el("p", { class: "hint" }, "No element is chosen."));
      return;
    }
    const at = (element.product * values.rowsEach + element.row) * values.cols + element.col;
    const held = values.undefined[at] ? "undefined bits" : shown(values.observed[at]);
    const wrong = Boolean(values.wrong[at]);
    const makers = store.model.makers(element, element.product);
    const batch = values.rows > values.rowsEach ? `, product ${element.product}` : "";
    box.replaceChildren(
      el("h3", {}, elementName(name, element) + batch),
      el(
        "p",
        {},
        "holds ",
        el("code", { class: wrong ? "bad-text" : "good-text" }, held),
        wrong && ", should be ",
        wrong && el("code", { class: "good-text" }, shown(values.expected[at])),
      ),
      ...(makers.length > 0
        ? makers.flatMap((maker) => makerView(store, maker, element))
        : [el("p", {}, nobody(store))]),
    );
  });
  return box;
}

function nobody(store: Store): string {
  return store.model.data.moments.leftOut > 0
    ? "No accumulator of the workgroups in this page is stored there: --workgroup X,Y,Z shows another one."
    : "No accumulator is stored there.";
}

function makerView(store: Store, maker: Maker, element: Element): HTMLElement[] {
  const { slot, steps, belongs } = maker;
  const first = steps[0];
  if (first === undefined) return [];
  const register = store.model.register(first.site, "C", slot.vgpr, first.operands.C?.bits ?? 32);
  const who = `workgroup ${store.model.groupName(first.group)}, wave ${first.wave}, lane ${slot.lane}, ${register}`;
  const go = () => store.goto(first, { matrix: "C", slot });
  const made = el("p", {}, "made by ", el("button", { type: "button", class: "link", onclick: go }, who));
  if (belongs !== null && (belongs.row !== element.row || belongs.col !== element.col))
    made.append(
      el(
        "span",
        { class: "bad-text" },
        ` ✗ which is ${elementName("C", belongs)}, stored to the wrong place`,
      ),
    );
  const parts = store.model.contributions(maker, element);
  const depth = store.model.data.moments.shapes.A[1];
  const wrong = parts.filter(({ right }) => !right).length;
  const missing = depth - new Set(parts.map(({ k }) => k)).size;
  const beyond = store.model.beyond(maker);
  const more = `${beyond.length} execution${beyond.length === 1 ? "" : "s"} add${beyond.length === 1 ? "s" : ""}`;
  const verdict = [
    `${parts.length} products over k`,
    wrong > 0 ? `${wrong} of wrong elements` : "all of the right elements",
    missing > 0 ? `${missing} k are missing` : "",
    beyond.length > 0 ? `${more} what lies beyond the last k` : "",
  ];
  const target = belongs ?? element;
  return [
    made,
    el(
      "p",
      { class: wrong + missing + beyond.length > 0 ? "bad-text" : "good-text" },
      verdict.filter(Boolean).join(", "),
    ),
    strip(store, parts, target),
    ...beyond.map((step) =>
      el(
        "p",
        {},
        el(
          "button",
          { type: "button", class: "link", onclick: () => store.goto(step, { matrix: "A" }) },
          `beyond the last k: instruction ${step.site}, execution ${step.iteration}`,
        ),
      ),
    ),
    tableBehind("its products as a table", ["k", "A", "B", "step", ""], () =>
      parts.map((one) => [
        String(one.k),
        elementName("A", one.heldA),
        elementName("B", one.heldB),
        `instruction ${one.step.site}, execution ${one.step.iteration}`,
        one.right ? "right" : `wrong: needs A[${target.row}][${one.k}] and B[${one.k}][${target.col}]`,
      ]),
    ),
  ];
}

/** A box for each product, in the order of the wave: red where an element is wrong. */
function strip(store: Store, parts: readonly Contribution[], target: Element): HTMLElement {
  const boxes = parts.map((one) => {
    const sides = [
      ["A", one.heldA, { row: target.row, col: one.k }],
      ["B", one.heldB, { row: one.k, col: target.col }],
    ] as const;
    const bad = sides.find(([, held, need]) => held?.row !== need.row || held.col !== need.col)?.[0];
    const title = `k ${one.k}: ${elementName("A", one.heldA)} * ${elementName("B", one.heldB)}`;
    const matrix = one.right || bad === undefined ? "A" : bad;
    const slot = matrix === "A" ? one.a : one.b;
    return el(
      "button",
      {
        type: "button",
        class: one.right ? "right" : "wrong",
        title,
        "aria-label": `${title}${one.right ? "" : ", wrong"}`,
        onclick: () => store.goto(one.step, { matrix, slot }),
      },
      String(one.k),
    );
  });
  return el("div", { class: "strip", role: "group", "aria-label": "products over k" }, ...boxes);
}
