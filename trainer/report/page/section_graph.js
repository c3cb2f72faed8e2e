// Graph: the step's programs, modules, kernels and ops, by their time.

function graphSection(run) {
  const root = (run.graph || {}).root;
  return root && (list(root.children).length || isNumber(root.ms)) ? [icicleFigure(root)] : [];
}
