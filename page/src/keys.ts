// Keys that work anywhere on the page, except where something is typed.

import { el } from "./dom";
import { nextWrong } from "./moment";
import type { Store } from "./store";

const KEYS: readonly (readonly [string, string, (store: Store) => void])[] = [
  [",", "one step back", (store) => store.set({ step: store.state.step - 1, slot: null })],
  [".", "one step on", (store) => store.set({ step: store.state.step + 1, slot: null })],
  ["n", "next wrong operand", nextWrong],
  ["[", "wave before", (store) => wave(store, -1)],
  ["]", "next wave", (store) => wave(store, 1)],
  ["a", "operand A", (store) => store.set({ matrix: "A", slot: null })],
  ["b", "operand B", (store) => store.set({ matrix: "B", slot: null })],
  ["c", "operand C", (store) => store.set({ matrix: "C", slot: null })],
];

function wave(store: Store, by: number): void {
  const waves = store.model.waves[store.state.group] ?? [];
  const next = waves[waves.indexOf(store.state.wave) + by];
  if (next !== undefined) store.set({ wave: next, slot: null });
}

export function keyboard(store: Store): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      target.matches("input:not([type=range]), select, textarea")
    )
      return;
    const found = KEYS.find(([key]) => key === event.key);
    if (found === undefined) return;
    event.preventDefault();
    found[2](store);
  });
}

export function keysHelp(): HTMLElement {
  const rows = KEYS.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]);
  const arrows = [
    el("dt", {}, el("kbd", {}, "arrows")),
    el("dd", {}, "slots of an operand, elements of the map"),
  ];
  return el("details", { class: "behind" }, el("summary", {}, "Keys"), el("dl", {}, ...rows, ...arrows));
}
