// An HTTP component: greets, and echoes what is posted.

function handle(request) {
  const { pathname } = new URL(request.url);
  const headers = { "content-type": "text/plain; charset=utf-8" };
  if (request.method === "POST") {
    // The body streams through.
    return new Response(request.body, { headers });
  }
  if (pathname.startsWith("/hello")) {
    return new Response("hello from JavaScript\n", { headers });
  }
  return new Response("there is nothing here\n", { status: 404, headers });
}

addEventListener("fetch", (event) => event.respondWith(handle(event.request)));
