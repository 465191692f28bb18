// Shows the OpenAPI document that stands beside the page, and lets its reader try each call.

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);

dark.addEventListener("change", followScheme);
followScheme();

const ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // A page's address configures nothing, no document is sent to a validator, and keys are forgotten with the page.
  queryConfigEnabled: false,
  validatorUrl: null,
  persistAuthorization: false,
  onComplete: () => {
    document.title = ui.getSystem().specSelectors.info().get("title");
  },
});
