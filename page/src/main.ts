// The page of `layoutprobe inspect`: reads its data, and puts the views together.

import { KERNEL, type KernelData } from "./data";
import { el } from "./dom";
import { findingsView } from "./findings";
import { operandView } from "./fragment";
import { heldView } from "./held";
import { keyboard, keysHelp } from "./keys";
import { ldsView } from "./lds";
import { Model } from "./model";
import { momentBar } from "./moment";
import { outputView } from "./output";
import css from "./page.css";
import { sourceView } from "./source";
import { firstState, Store } from "./store";
import { timelineView } from "./waves";

function main(): void {
  const place = document.getElementById("kernel");
  const text = document.getElementById("layoutprobe-data")?.textContent;
  if (place === null || !text) return;
  const data = JSON.parse(text) as KernelData;
  if (data.schema !== KERNEL) {
    place.append(el("p", {}, `This page's data is ${data.schema}, and its script reads ${KERNEL}.`));
    return;
  }
  const model = new Model(data);
  const store = new Store(model, firstState(model));
  const views = data.judged
    ? [
        findingsView(store),
        momentBar(store),
        timelineView(store),
        el("div", { class: "columns" }, operandView(store), sourceView(store)),
        outputView(store),
        ldsView(store),
        keysHelp(),
      ]
    : [
        findingsView(store),
        timelineView(store),
        el("div", { class: "columns" }, heldView(store), sourceView(store)),
        ldsView(store),
      ];
  place.append(el("style", {}, css), ...views);
  store.start();
  keyboard(store);
}

main();
