"use strict";
// Collects what is chosen, asks the planner, shows what it answers. Nothing is computed here.

const $ = (id) => document.getElementById(id);
const form = $("form");
/** The fields, and the marks at the architectures to compare with. */
let fields = [];
let marks = [];
let planner;

/** An element with properties and children; texts become text, never markup. */
function h(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// --- The planner ---------------------------------------------------------------------------------------------------------

/** Loads the module that the page carries. Returns its functions from text to text. */
async function loadPlanner() {
  const bytes = Uint8Array.from(atob($("module").textContent.trim()), (character) => character.charCodeAt(0));
  const read = (at, length) => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, at, length));
  const imports = { page: { plan_panicked: (at, length) => broken(`The planner stopped: ${read(at, length)}`) } };
  const wasm = (await instantiate(bytes, imports)).exports;
  /** Reads an answer: four bytes of length, then the text. */
  const taken = (block) => {
    const length = new DataView(wasm.memory.buffer).getUint32(block, true);
    const answer = read(block + 4, length);
    wasm.plan_free(block, length + 4);
    return answer;
  };
  return {
    choices: () => taken(wasm.plan_choices()),
    answer: (question) => {
      const asked = new TextEncoder().encode(question);
      const block = wasm.plan_alloc(asked.length);
      new Uint8Array(wasm.memory.buffer, block, asked.length).set(asked);
      const answer = wasm.plan_answer(block, asked.length);
      wasm.plan_free(block, asked.length);
      return taken(answer);
    },
  };
}

/** At once, so that the page never stands empty; older browsers compile so much only while they go on with other things. */
async function instantiate(bytes, imports) {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
  } catch {
    return (await WebAssembly.instantiate(bytes, imports)).instance;
  }
}

/** Something that must not happen did: the page says so instead of showing old numbers. */
function broken(message) {
  $("broken").textContent = message;
  $("broken").hidden = false;
  $("results").hidden = true;
}

// --- Fields and requests -------------------------------------------------------------------------------------------------

/** The fields that are filled in, by name. */
function filled() {
  const some = fields.filter((field) => field.value.trim() !== "");
  return Object.fromEntries(some.map((field) => [field.name, field.value.trim()]));
}

function fill(values) {
  offerProducts(values.arch ?? defaults.arch);
  for (const field of fields) {
    field.value = values[field.name] ?? defaults[field.name] ?? "";
    // A list has no value that it does not offer.
    if (field.selectedIndex < 0) field.value = defaults[field.name] ?? "";
  }
}

/** What is asked about: a product, a template, or buffers where there are any. */
const kindOf = (values) => (values.buffers ? "buffers" : values.template ?? "product");

/** Whether an element belongs to what is asked about. */
function isOf(element, kind) {
  const kinds = element.closest("[data-of]")?.dataset.of;
  return kinds === undefined || kinds.split(" ").includes(kind);
}

/** The planner's request from fields that belong to what is asked about: `tile.m` is the `m` of `tile`. */
function requestOf(values) {
  const request = { explain: true };
  const kind = kindOf(values);
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined || !isOf(field, kind)) continue;
    const [name, part] = field.name.split(".");
    const typed = field.type === "number" ? Number(value) : value;
    if (part === undefined) request[name] = typed;
    else (request[name] ??= {})[part] = typed;
  }
  const whole = (object, parts) => object !== undefined && parts.every((part) => object[part] !== undefined);
  // What consists of parts counts once all of them are there.
  if (!whole(request, ["m", "n", "k"])) for (const part of ["m", "n", "k"]) delete request[part];
  if (!whole(request.tile, ["m", "n", "k"])) delete request.tile;
  const { cluster, epilogue } = request;
  if (cluster) request.cluster = [cluster.m ?? 1, cluster.n ?? 1];
  delete request.epilogue;
  if (epilogue?.kind === "direct") request.epilogue = "direct";
  else if (epilogue?.kind && whole(epilogue, ["m", "n"])) {
    request.epilogue = { [epilogue.kind]: { m: epilogue.m, n: epilogue.n, buffers: epilogue.buffers ?? 1 } };
  }
  return request;
}

/** The fields of a request: the inverse. */
function fieldsOf(request) {
  const values = {};
  for (const [name, value] of Object.entries(request)) {
    if (value === null) continue;
    if (name === "cluster") [values["cluster.m"], values["cluster.n"]] = value;
    else if (name === "epilogue") {
      const [kind, tile] = typeof value === "string" ? [value, {}] : Object.entries(value)[0];
      values["epilogue.kind"] = kind;
      for (const part in tile) values[`epilogue.${part}`] = tile[part];
    } else if (typeof value === "object") for (const part in value) values[`${name}.${part}`] = value[part];
    else if (!(name === "margin_bytes" && value === 0)) values[name] = value;
  }
  return values;
}

const compared = () => marks.filter((mark) => mark.checked).map((mark) => mark.value);

/** What was chosen, as the part of the address that no server sees. */
function fragment() {
  const chosen = new URLSearchParams(filled());
  if (compared().length > 0) chosen.set("compare", compared().join(" "));
  return `#${chosen}`;
}

/** Fills the form from the address, or else from the request that the page was made with. */
function restore() {
  const chosen = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  fill(location.hash.length > 1 ? chosen : fieldsOf(JSON.parse($("request").textContent)));
  const others = (chosen.compare ?? "").split(" ");
  for (const mark of marks) mark.checked = others.includes(mark.value);
}

// --- Asking --------------------------------------------------------------------------------------------------------------

/** Takes a request over into the form. */
function take(request) {
  fill(fieldsOf(request));
  changed();
}

function changed() {
  history.replaceState(null, "", fragment());
  show();
}

/** What is no number at all never reaches the planner: the field itself says what is wrong. */
function unreadable() {
  const field = fields.find((field) => isOf(field, kindOf(filled())) && !field.checkValidity());
  if (!field) return null;
  const nearest = field.validity.rangeOverflow ? field.max : field.min;
  const request = requestOf({ ...filled(), [field.name]: nearest });
  return { what: field.name, says: field.validationMessage, field: field.name, nearest, request };
}

function show() {
  const kind = kindOf(filled());
  for (const element of form.querySelectorAll("[data-of]")) element.hidden = !isOf(element, kind);
  const epilogue = form.elements["epilogue.kind"].value;
  if (epilogue === "" || epilogue === "direct") $("epilogue-tile").hidden = true;
  const problem = unreadable();
  if (problem) return showProblem(problem);
  const question = { request: requestOf(filled()), compare: compared(), width: $("results").clientWidth };
  showAnswer(JSON.parse(planner.answer(JSON.stringify(question))));
}

// --- Showing -------------------------------------------------------------------------------------------------------------

function showAnswer(answer) {
  const { report } = answer;
  showProblem(answer.error);
  showOpen(answer);
  if (!report) return;
  for (const line of [$("verdict"), $("bar")]) {
    line.textContent = answer.verdict;
    line.className = report.fits ? "fits" : "over";
  }
  $("command").textContent = answer.command;
  $("facts").replaceChildren(...answer.facts.map(({ name, value, note }) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value, note ? h("small", {}, ` ${note}`) : null))));
  // The picture is the planner's own, with every text in it escaped.
  $("picture").innerHTML = answer.svg;
  $("others").replaceChildren(...answer.others.map((other) => h("li", {}, `${other.arch}: ${other.says}`)));
  showMoves(report, answer.after_moves);
  showSheet(report);
  showResources(answer.resources);
  showCandidates(report.candidates ?? [], answer.candidates);
}

function showProblem(problem) {
  $("problem").hidden = !problem;
  $("answer").hidden = Boolean(problem);
  for (const field of fields) field.removeAttribute("aria-invalid");
  if (!problem) return;
  $("bar").textContent = `${problem.what}: not legal`;
  $("bar").className = "over";
  const wrong = fields.find((field) => field.name === problem.field);
  wrong?.setAttribute("aria-invalid", "true");
  wrong?.closest("details")?.setAttribute("open", "");
  const takeNearest = () => {
    take(problem.request);
    wrong?.focus();
  };
  $("problem").replaceChildren(
    h("p", {}, h("b", {}, problem.what), `: ${problem.says}`),
    ...(problem.source ? [h("p", { className: "source" }, `Source: ${problem.source}`)] : []),
    ...(problem.request ? [h("p", {}, h("button", { type: "button", className: "main", id: "nearest", onclick: takeNearest },
      `Take the nearest legal value: ${problem.nearest}`))] : []),
  );
}

/** What the planner chose where a field is left open stands in the field, in grey; what cannot be chosen is grey too. */
function showOpen({ chosen, paths }) {
  const values = chosen ? fieldsOf(chosen) : {};
  for (const field of fields) {
    if (field.type === "number") field.placeholder = values[field.name] ?? field.dataset.placeholder;
    const open = field.type === "select-one" ? field.querySelector('option[value=""]') : null;
    if (open) open.textContent = values[field.name] === undefined ? "as usual" : `as usual: ${values[field.name]}`;
  }
  for (const mark of marks) mark.disabled = mark.value === form.elements.arch.value;
  for (const option of form.elements.path.options) option.disabled = option.value !== "" && !paths.includes(option.value);
}

function table(target, heads, rows) {
  const head = h("tr", {}, heads.map(([text, className = ""]) => h("th", { scope: "col", className }, text)));
  target.replaceChildren(h("thead", {}, head), h("tbody", {}, rows));
}

const row = (className, name, ...cells) => h("tr", { className }, h("th", { scope: "row" }, name), cells);
const number = (value) => h("td", { className: "n" }, value === null || value === undefined ? "" : String(value));
const note = (text) => h("td", { className: "note" }, text ?? "");

function showSheet(sheet) {
  const overlaid = sheet.components.some((part) => part.overlaid_bytes > 0);
  const named = ({ name, shape }) => [name, shape ? h("small", {}, ` ${shape}`) : null];
  const parts = sheet.components.map((part) => row("", named(part), number(part.per_stage), number(part.bytes),
    number(part.offset), overlaid ? number(part.overlaid_bytes || null) : null));
  const sum = (className, name, bytes) => row(className, name, number(), number(bytes), number(), overlaid ? number() : null);
  const heads = [["part"], [`each of ${sheet.buffers} ${sheet.template ? "stages" : "buffers"}`, "n"], ["bytes", "n"], ["begins at", "n"]];
  table($("sheet"), overlaid ? [...heads, ["over others", "n"]] : heads, [
    ...parts,
    sum("sum", "total", sheet.total_bytes),
    sum("", "limit of a block", sheet.limit_bytes),
    ...(sheet.margin_bytes > 0 ? [sum("", "margin", sheet.margin_bytes)] : []),
    sheet.fits ? sum("", "left", sheet.left_bytes) : sum("over", "over by", sheet.over_by_bytes),
    sum("", "reserved besides", sheet.reserved_bytes),
  ]);
}

function showResources(resources) {
  table($("resources"), [["resource"], ["blocks", "n"], ["a block takes", "n"], [""]], resources.map((resource) =>
    row(resource.limits ? "limiter" : "", resource.name, number(resource.blocks), number(resource.taken),
      note(resource.limits ? "limits" : ""))));
}

const bytesOf = (move) => h("span", { className: "bytes" }, `${move.before_bytes} → ${move.after_bytes} B`);

function showMoves(report, after) {
  $("moves-section").hidden = report.fits;
  const steps = report.moves.map((move) => h("li", {}, h("b", {}, move.name), " ", bytesOf(move),
    h("div", { className: "reason" }, `${move.reason}; ${move.cost.text}`)));
  const tried = report.considered.map((move) => h("li", { className: move.legal ? "" : "illegal" },
    h("b", {}, move.name), " ", move.legal ? bytesOf(move) : "not possible", h("div", { className: "reason" }, move.reason)));
  $("moves").replaceChildren(
    report.impossible === null ? h("ol", { className: "steps" }, steps) : h("p", { id: "impossible" }, report.impossible),
    ...(after ? [h("button", { type: "button", className: "main", id: "take-moves", onclick: () => take(after) },
      "Take the configuration that fits")] : []),
    h("details", { className: "quiet", open: $("moves").querySelector("details")?.open ?? false },
      h("summary", {}, `Every move, tried once from here: ${tried.length}`), h("ul", { className: "steps" }, tried)),
  );
}

function showCandidates(candidates, requests) {
  $("candidates-section").hidden = candidates.length === 0;
  const ranked = candidates.filter((candidate) => candidate.rejected === null);
  const rejected = candidates.filter((candidate) => candidate.rejected !== null);
  const tile = ({ tile: { m, n, k } }) => `${m}x${n}x${k}`;
  table($("candidates"), [["tile"], ["stages", "n"], ["path"], ["warps", "n"], ["cluster", "n"], ["split k", "n"], ["bytes", "n"],
    ["blocks", "n"], ["µs", "n"], ["bound by"], [""]], ranked.slice(0, requests.length).map((candidate, index) =>
    row(index === 0 ? "limiter" : "", tile(candidate), number(candidate.stages), h("td", {}, candidate.path),
      number(candidate.warps), number(candidate.cluster.join("x")), number(candidate.split_k), number(candidate.total_bytes),
      number(candidate.blocks_per_sm), number(candidate.estimated_us.toFixed(1)), note(candidate.bound.replaceAll("_", " ")),
      h("td", {}, h("button", { type: "button", onclick: () => take(requests[index]) }, "Take")))));
  $("rejected").replaceChildren(
    h("p", { className: "hint" }, `The fastest of ${ranked.length} templates that fit, by the model.`),
    h("details", { className: "quiet" }, h("summary", {}, `Passed over: ${rejected.length}`), h("ul", { className: "passed" },
      rejected.map((candidate) => h("li", {}, `${tile(candidate)}, ${candidate.stages} stages: ${candidate.rejected}`)))));
}

// --- Beginning -----------------------------------------------------------------------------------------------------------

const options = (list, entries) => list.replaceChildren(...entries.map(([value, text]) => h("option", { value }, text)));
let products;
let defaults;

/** The GPUs of an architecture; another one's is given up. */
function offerProducts(arch) {
  const list = form.elements.product;
  const chosen = list.value;
  options(list, products.get(arch) ?? [["", "as usual"]]);
  list.value = chosen;
  if (list.selectedIndex < 0) list.selectedIndex = 0;
}

function offer(choices) {
  products = new Map(choices.products);
  defaults = fieldsOf(choices.defaults);
  for (const [name, entries] of Object.entries(choices.lists)) options(form.elements[name], entries);
  fields = [...form.elements].filter((field) => field.name);
  for (const field of fields) field.dataset.placeholder = field.placeholder ?? "";
  marks = choices.lists.arch.map(([value]) => h("input", { type: "checkbox", value }));
  $("save").before(...marks.map((mark) => h("label", {}, mark, mark.value)));
}

async function begin() {
  planner = await loadPlanner();
  offer(JSON.parse(planner.choices()));
  restore();
  show();
  form.addEventListener("input", (event) => {
    if (event.target.name === "arch") offerProducts(event.target.value);
    changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  $("compare").addEventListener("input", changed);
  $("reset").addEventListener("click", () => {
    history.replaceState(null, "", location.pathname);
    restore();
    show();
  });
  $("share").hidden = !navigator.clipboard;
  $("share").addEventListener("click", async () => {
    const said = await navigator.clipboard.writeText(location.href).then(() => "Copied", () => "See the address bar");
    $("share").textContent = said;
    setTimeout(() => { $("share").textContent = "Copy link"; }, 2000);
  });
  window.addEventListener("hashchange", () => {
    restore();
    show();
  });
  $("save").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([$("picture").innerHTML], { type: "image/svg+xml" }));
    h("a", { href: address, download: "shared-memory.svg" }).click();
    URL.revokeObjectURL(address);
  });
  // The picture has the width of its place, and letters of the same size whatever the width.
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (width !== window.innerWidth) show();
    width = window.innerWidth;
  });
}

begin().catch((error) => broken(`The page could not start: ${error}`));
