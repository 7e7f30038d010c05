"use strict";
const key = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
};
const order = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const sorted = [...body.rows].sort((a, b) => order(key(a, head.cellIndex), key(b, head.cellIndex)));
    body.append(...(down ? sorted.reverse() : sorted));
  });
}
const filter = document.querySelector("#filter");
if (filter) {
  filter.addEventListener("change", () => {
    for (const question of document.querySelectorAll("details.question")) {
      question.hidden = filter.value !== "" && !question.dataset.ends.split("|").includes(filter.value);
    }
  });
}
