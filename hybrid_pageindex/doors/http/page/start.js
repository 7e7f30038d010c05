// The token stands in the fragment, which browsers send to nobody: it is exchanged for a cookie and taken away.
const state = document.getElementById("state");
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  history.replaceState(null, "", location.pathname);
  await fetch("/api/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
}
const session = await fetch("/api/v1/session");
state.textContent = session.ok
  ? `Signed in as ${(await session.json()).name}.`
  : "Open the address that serve printed, with its token.";
