// Shows the OpenAPI document in the folder of the page, with a form to try each call.

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
  // The address of the page changes no setting, no document is sent to a validator, and keys are not stored.
  queryConfigEnabled: false,
  validatorUrl: null,
  persistAuthorization: false,
  onComplete: () => {
    document.title = ui.getSystem().specSelectors.info().get("title");
  },
});
