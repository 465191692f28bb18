//! Finds the components that the service brings.

#[path = "../../service/components.rs"]
mod components;

fn main() {
    components::find(&["status"]);
}
