declare const htm: { bind<N>(h: (type: unknown, props?: object | null, ...children: any[]) => N): (texts: TemplateStringsArray, ...values: any[]) => N };
export default htm;
