export type Node = object | string | number | boolean | null | undefined | Node[];
export interface Context<T> { Provider: (props: { value: T; children?: Node }) => Node; __value?: T; }
export function h(type: unknown, props?: object | null, ...children: Node[]): Node;
export function render(node: Node, parent: Element): void;
export function createContext<T>(value: T): Context<T>;
export const Fragment: unknown;
