/** Answers every request with a line of text. */
addEventListener('fetch', (event) => {
  event.respondWith(new Response('Hello from JavaScript\n', { headers: { 'content-type': 'text/plain' } }));
});
