/** Answers with a line of text; at `/echo` with the request's body as it comes, at `/hash` with its digest, and at `/fetch` with
 * what the server answers that the header `url` names. */
async function answer(request) {
  const route = new URL(request.url).pathname.split('/').pop();
  if (route === 'echo') {
    return new Response(request.body);
  }
  if (route === 'hash') {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await request.arrayBuffer()));
    return new Response(Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''));
  }
  if (route === 'fetch') {
    const { body, status } = await fetch(request.headers.get('url'));
    return new Response(body, { status });
  }
  return new Response('Hello from JavaScript\n', { headers: { 'content-type': 'text/plain' } });
}

addEventListener('fetch', (event) => event.respondWith(answer(event.request)));
