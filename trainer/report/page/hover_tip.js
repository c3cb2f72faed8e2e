// One tip for the page: lines of {text, value, mark}, shown beside the pointer.

function showTip(lines, x, y) {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...lines.map(
      (line) => element(
          "div", {class: line.value === undefined ? null : "pair"},
          line.mark ? element("i", {class: `mark ${line.mark}`}) : null,
          element("bdi", {}, asText(line.text).slice(0, 1500)),
          line.value === undefined ? null : element("b", {}, asText(line.value)))));
  tip.hidden = false;
  const gap = 14, width = tip.offsetWidth, height = tip.offsetHeight;
  const left = x + gap + width > innerWidth - 4 ? x - gap - width : x + gap;
  const top = y + gap + height > innerHeight - 4 ? y - gap - height : y + gap;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() { document.getElementById("tip").hidden = true; }

// lines: a function of the datum. Without a mouse the same is in the chart's table: a mark that
// listened to the focus would be one more stop of the tabulator.
function showsTip(selection, lines) {
  return selection
      .on("mousemove.tip",
          function(datum) { showTip(lines.call(this, datum), d3.event.clientX, d3.event.clientY); })
      .on("mouseleave.tip", hideTip);
}

// Cut texts of the page show all of themselves.
function watchClippedTexts() {
  document.addEventListener("mouseover", (event) => {
    const cut = event.target.closest && event.target.closest(".clip");
    if (cut && cut !== document.activeElement && cut.scrollWidth > cut.clientWidth) {
      const box = cut.getBoundingClientRect();
      showTip([{text: cut.textContent}], box.left, box.bottom - 10);
    }
  });
  document.addEventListener("mouseout", (event) => {
    if (event.target.closest && event.target.closest(".clip")) hideTip();
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.closest && event.target.closest(".clip")) hideTip();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });
  document.addEventListener("scroll", hideTip, {passive: true});
}
