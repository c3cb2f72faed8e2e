// Zooming along x, alike in all charts that have a long axis: a drag chooses a range, the wheel
// zooms around the pointer, a double click or Escape shows all, + and - zoom, arrows move the
// cursor.
//
// The wheel belongs to the page until a chart has the focus (or Ctrl is held): else a page full of
// charts could not be scrolled.

// view: {full: [from, to], domain: [from, to] or null, change(domain or null), hover(x or null,
// event)}; the scale is the one that the chart shows now, over [0, area.width].
function zoomable(area, svg, view, scale) {
  const extent = [[0, 0], [area.width, area.height]];
  const base = d3.scaleLinear().domain(view.full()).range([0, area.width]);
  // Within an event of the user, d3 gives changes that the page makes the user's event, too.
  let following = false;
  const hasFocus = () => svg.node() === document.activeElement;
  const zoom = d3.zoom()
                   .scaleExtent([1, 2000])
                   .extent(extent)
                   .translateExtent(extent)
                   .filter(
                       () => d3.event.type === "wheel" ?
                           d3.event.ctrlKey || hasFocus() :
                           d3.event.type.startsWith("touch") && d3.event.touches.length > 1)
                   .on("zoom", () => {
                     if (following) return;
                     const transform = d3.event.transform;
                     view.change(transform.k <= 1.0001 ? null : transform.rescaleX(base).domain());
                   });
  const brush = d3.brushX()
                    .extent(extent)
                    .touchable(false)
                    .on("start", () => svg.node().focus({preventScroll: true}))
                    .on("end", function() {
                      if (!d3.event.selection) return;
                      const [from, to] = d3.event.selection.map(scale.invert);
                      d3.select(this).call(brush.move, null);
                      if (to > from) view.change([from, to]);
                    });
  const layer = area.top.append("g").attr("class", "brush").call(brush);
  layer.call(zoom)
      .on("dblclick.zoom", null)
      .style("touch-action", "pan-y")
      .on("dblclick", () => view.change(null))
      .on("mousemove.hover", function() { view.hover(scale.invert(d3.mouse(this)[0]), d3.event); })
      .on("mouseleave.hover", () => view.hover(null));
  const follow = () => {
    const [from, to] = view.domain || view.full(), whole = base.domain()[1] - base.domain()[0];
    const k = whole > 0 && to > from ? whole / (to - from) : 1;
    following = true;
    layer.call(zoom.transform, d3.zoomIdentity.scale(k).translate(-base(from), 0));
    following = false;
  };
  follow();
  return {layer, follow};
}

// Keys of a chart that has the focus.
function zoomKeys(view, event) {
  const [from, to] = view.domain || view.full(), width = to - from;
  const cursor = isNumber(view.cursor) ? view.cursor : (from + to) / 2;
  const around = (factor) => view.change(
      insideOf(view.full(), [cursor - (cursor - from) * factor, cursor + (to - cursor) * factor]));
  const actions = {
    "ArrowLeft": () => view.hover(Math.max(from, cursor - width / 100), null),
    "ArrowRight": () => view.hover(Math.min(to, cursor + width / 100), null),
    "+": () => around(0.5),
    "=": () => around(0.5),
    "-": () => around(2),
    "Escape": () => view.change(null),
    "0": () => view.change(null),
  };
  if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  actions[event.key]();
}

function insideOf(full, domain) {
  const inside = [Math.max(full[0], domain[0]), Math.min(full[1], domain[1])];
  return inside[0] <= full[0] && inside[1] >= full[1] ? null : inside;
}

const kZoomHint = "Drag to zoom; the wheel zooms a chart that has the focus, or with Ctrl. " +
    "Double click or Esc shows all.";
