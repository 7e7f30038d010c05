// What components are written with: Preact, its hooks, and templates.
import { h, render, Fragment, createContext } from "./vendor/preact.js";
import { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export {
  render, Fragment, createContext,
  useCallback, useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState,
};
