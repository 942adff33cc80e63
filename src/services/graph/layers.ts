// Places of the boxes of a layered drawing: columns from left to right, each in an order that keeps lines short.

export interface LayeredNode {
  layer: number;
  width: number;
  height: number;
}

export interface Placed {
  x: number;
  y: number;
}

const SWEEPS = 8;

/**
 * Orders each layer by the mean position of its neighbours in the layer before, and then after, several times (Sugiyama, Tagawa,
 * Toda, IEEE SMC 11(2), 1981), and centres the layers.
 */
export function layered(
  nodes: readonly LayeredNode[],
  edges: readonly (readonly [number, number])[],
  gap: { x: number; y: number },
): { places: Placed[]; width: number; height: number } {
  const layers: number[][] = [];
  nodes.forEach(({ layer }, i) => {
    while (layers.length <= layer) layers.push([]);
    layers[layer].push(i);
  });
  const neighbours = nodes.map((): number[] => []);
  for (const [a, b] of edges) {
    neighbours[a].push(b);
    neighbours[b].push(a);
  }
  const position = new Map<number, number>();
  const number = (layer: number[]) => {
    for (const [i, node] of layer.entries()) position.set(node, (i + 0.5) / layer.length);
  };
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const order = down ? layers : [...layers].reverse();
    for (const layer of order) {
      const mean = (node: number) => {
        const others = neighbours[node].filter((other) =>
          down ? nodes[other].layer < nodes[node].layer : nodes[other].layer > nodes[node].layer,
        );
        if (others.length === 0) return position.get(node) ?? 0;
        return others.reduce((sum, other) => sum + (position.get(other) ?? 0), 0) / others.length;
      };
      const means = new Map(layer.map((node) => [node, mean(node)]));
      layer.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0));
      number(layer);
    }
  }
  const heights = layers.map((layer) =>
    layer.reduce((sum, node) => sum + nodes[node].height + gap.y, -gap.y),
  );
  const height = Math.max(0, ...heights);
  const places: Placed[] = nodes.map(() => ({ x: 0, y: 0 }));
  let x = 0;
  layers.forEach((layer, i) => {
    let y = (height - heights[i]) / 2;
    for (const node of layer) {
      places[node] = { x, y };
      y += nodes[node].height + gap.y;
    }
    x += Math.max(0, ...layer.map((node) => nodes[node].width)) + gap.x;
  });
  return { places, width: x - gap.x, height };
}
