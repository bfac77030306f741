"use strict";
// Put into a copy of the page by the test: does what the steps say, and writes what it sees into the page, as JSON.

// In a block of its own: the page has names too.
{
  const seen = { errors: [], steps: [] };
  window.addEventListener("error", (event) => seen.errors.push(`error: ${event.message}`));
  window.addEventListener("unhandledrejection", (event) => seen.errors.push(`rejection: ${event.reason}`));
  document.addEventListener("securitypolicyviolation", (event) => seen.errors.push(`policy: ${event.blockedURI}`));
  for (const name of ["error", "warn"]) {
    const original = console[name];
    console[name] = (...words) => {
      seen.errors.push(`console.${name}: ${words.join(" ")}`);
      original.apply(console, words);
    };
  }

  /** The texts of a table's cells, row by row. */
  const cells = (id) => [...document.getElementById(id).rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  const visible = (element) => element !== null && element.checkVisibility();
  const texts = (selector) => [...document.querySelectorAll(selector)].filter(visible).map((element) => element.textContent);

  /** Texts of the picture whose boxes meet, as the browser has laid them out. */
  function overlaps() {
    const boxes = [...document.querySelectorAll("#picture text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    const found = [];
    boxes.forEach(([one, a], index) => {
      for (const [other, b] of boxes.slice(0, index)) {
        // A line's box has room above and below the letters: two pixels of it may meet.
        const meet = a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
        if (meet) found.push(`${one} / ${other}`);
      }
    });
    return found;
  }

  function observe(name, last) {
    return {
      name,
      ...last,
      fragment: location.hash,
      verdict: texts("#verdict").join(),
      problem: texts("#problem").join(),
      nearest: texts("#nearest").join(),
      invalid: [...document.querySelectorAll("[aria-invalid=true]")].map((field) => field.name),
      facts: texts("#facts > div"),
      moves: texts("#moves ol > li"),
      impossible: texts("#impossible").join(),
      command: texts("#command").join(),
      sheet: cells("sheet"),
      resources: cells("resources"),
      candidates: visible(document.getElementById("candidates")) ? cells("candidates") : [],
      parts: [...document.querySelectorAll("#picture .tw-part")].map((part) => [part.dataset.name, Number(part.dataset.bytes)]),
      others: texts("#others > li"),
      values: Object.fromEntries([...document.forms[0].elements].filter((field) => field.name).map((field) => [field.name, field.value])),
      overlaps: overlaps(),
      picture_width: document.querySelector("#picture svg")?.clientWidth ?? 0,
      frame_width: document.getElementById("frame").clientWidth,
      window_width: document.documentElement.clientWidth,
      too_wide: [document.documentElement, ...document.querySelectorAll("form, section, fieldset")]
        .filter((element) => visible(element) && element.scrollWidth > element.clientWidth)
        .map((element) => `${element.tagName} ${element.id}`),
    };
  }

  /** Sets a field as a user does: the value, then the event. */
  function set(name, value) {
    const field = document.forms[0].elements[name];
    field.value = value;
    if (field.value !== value) seen.errors.push(`${name} does not take ${value}`);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function run(steps) {
    let last = {};
    const answer = planner.answer;
    planner.answer = (question) => {
      last = { question, answer: answer(question) };
      return last.answer;
    };
    show();
    seen.steps.push(observe("beginning", last));
    for (const { name, afresh, fields, marks, click, fragment } of steps) {
      if (afresh) document.getElementById("reset").click();
      for (const [field, value] of fields) set(field, value);
      for (const value of marks) document.querySelector(`#compare input[value=${value}]`).click();
      if (click !== null) document.querySelector(click).click();
      if (fragment !== null) {
        history.replaceState(null, "", fragment);
        window.dispatchEvent(new HashChangeEvent("hashchange"));
      }
      seen.steps.push(observe(name, last));
    }
    seen.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
  }

  window.addEventListener("load", function wait() {
    if (!planner) return setTimeout(wait, 20);
    try {
      run(JSON.parse(document.getElementById("steps").textContent));
    } catch (error) {
      seen.errors.push(`driver: ${error.stack}`);
    }
    // Characters that would need an escape in HTML are written as JSON's own.
    const json = JSON.stringify(seen).replace(/[<>&\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
    document.body.append(h("pre", { id: "seen", textContent: json }));
  });
}
