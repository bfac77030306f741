// Runs in a page of the book before its own scripts, and tells the page around it at the end what happened.
const seen = { errors: [], window: 0, page: 0, wide: [], pictures: [] };
addEventListener("error", (event) => seen.errors.push(event.message ?? `cannot load ${event.target.src ?? event.target.href}`), true);
addEventListener("unhandledrejection", (event) => seen.errors.push(String(event.reason)));
const told = console.error;
console.error = (...words) => { seen.errors.push(words.join(" ")); told(...words); };
window.print = () => {};
addEventListener("load", () => setTimeout(() => {
  seen.window = document.documentElement.clientWidth;
  seen.page = document.documentElement.scrollWidth;
  const main = document.querySelector("main");
  // Each picture has a second one, hidden, that a click enlarges.
  for (const picture of main.querySelectorAll("img:not(.img-wrapper img)")) {
    const { width, left, right } = picture.getBoundingClientRect();
    seen.pictures.push({ name: picture.getAttribute("src"), loaded: picture.naturalWidth > 0, width, inside: left >= 0 && right <= seen.window });
  }
  const scrolls = (element) => element !== null && element !== main
    && (["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  for (const element of main.querySelectorAll("p, li, h1, h2, h3, pre, table, td, code")) {
    const { right, width } = element.getBoundingClientRect();
    if (width > 0 && right > seen.window + 1 && !scrolls(element.parentElement)) seen.wide.push(`${element.tagName}: ${element.textContent.slice(0, 60)}`);
  }
  parent.postMessage(JSON.stringify(seen), "*");
}, 500));
