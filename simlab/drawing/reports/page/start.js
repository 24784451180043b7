// Charts of a page start when it is read: the first at once, the others when they come near or nothing else is to do.

const STARTS = { explorer: startExplorer, matrix: startMatrix, drill: startDrill, chart: startChart };

function heldIn(id) {
  const held = document.getElementById(id);
  return held ? JSON.parse(held.textContent) : null;
}

// The rows of an explorer are the data of its report, which stands in the page once.
const dataOf = (() => {
  const read = new Map();
  return (figure) => {
    const id = figure.closest("[data-held]")?.dataset.held ?? "simlab-data";
    if (!read.has(id)) read.set(id, heldIn(id));
    return read.get(id);
  };
})();

function startFigure(figure) {
  if (figure.dataset.started) return null;
  figure.dataset.started = "yes";
  const block = heldIn(`simlab-block-${figure.dataset.place}`);
  return STARTS[figure.dataset.block](figure, block, dataOf(figure)).then(() => performance.mark(`simlab-drawn-${figure.dataset.place}`));
}

async function start() {
  const figures = [...document.querySelectorAll("figure[data-block]")];
  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) startFigure(target);
  }, { rootMargin: "400px" });
  await (figures.length && startFigure(figures[0]));
  figures.forEach((figure) => near.observe(figure));
  // Who prints, or looks for a word, has seen them all.
  const idle = window.requestIdleCallback ?? ((task) => setTimeout(task, 200));
  const next = () => {
    const waiting = figures.find((figure) => !figure.dataset.started);
    if (waiting) Promise.resolve(startFigure(waiting)).finally(() => idle(next));
    else document.documentElement.dataset.charts = "drawn";
  };
  idle(next);
}

addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
addEventListener("scroll", hide, { passive: true });
if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
else start();
