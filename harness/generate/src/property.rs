//! The properties: what must hold for every input of a kind.

use mcp_hil_scenario::Step;
use proptest::strategy::BoxedStrategy;

use crate::context::Context;
use crate::{
    arguments, concurrency, ids, json, liveness, metamorphic, methods, pages, positions, schemas,
    state, strings, texts,
};

/// What must hold for every input of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// `properties/<name>`.
    pub id: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Capabilities without which it does not apply.
    pub needs: &'static [&'static str],
    /// Whether its inputs are those of the others, mixed: what they have shown is no news here.
    pub is_mixed: bool,
    /// The steps of the draw with a number.
    pub(crate) steps: fn(&Context, u32) -> BoxedStrategy<Vec<Step>>,
}

/// All properties, in the order in which they are tried.
pub const PROPERTIES: [Property; 13] = [
    Property {
        id: "properties/ids",
        title: "Ids of every kind come back unchanged, or the request is refused without effect",
        needs: &[],
        is_mixed: false,
        steps: ids::steps,
    },
    Property {
        id: "properties/arguments",
        title: "Arguments that fit a tool's own schema are accepted, others refused without effect",
        needs: &["tools"],
        is_mixed: false,
        steps: arguments::steps,
    },
    Property {
        id: "properties/schemas",
        title: "Bounds, defaults and required arguments of every tool are what its schema says",
        needs: &["tools"],
        is_mixed: false,
        steps: schemas::steps,
    },
    Property {
        id: "properties/strings",
        title: "Hostile text of any length is answered with valid JSON, or survived",
        needs: &[],
        is_mixed: false,
        steps: strings::steps,
    },
    Property {
        id: "properties/texts",
        title: "A tool that gives a text back gives it back as it was",
        needs: &["tools"],
        is_mixed: false,
        steps: texts::steps,
    },
    Property {
        id: "properties/pagination",
        title: "Every tool is listed once, cursors are repeatable, foreign cursors return nothing",
        needs: &["tools"],
        is_mixed: false,
        steps: pages::steps,
    },
    Property {
        id: "properties/methods",
        title: "Requests for things that do not exist are refused correctly",
        needs: &[],
        is_mixed: false,
        steps: methods::steps,
    },
    Property {
        id: "properties/json",
        title: "Different spellings of a request are understood, invalid requests produce no success",
        needs: &[],
        is_mixed: false,
        steps: json::steps,
    },
    Property {
        id: "properties/positions",
        title: "A value of any kind at any place of a message is answered correctly, or survived",
        needs: &[],
        is_mixed: false,
        steps: positions::steps,
    },
    Property {
        id: "properties/metamorphic",
        title: "The same request in a different spelling gets the same answer",
        needs: &[],
        is_mixed: false,
        steps: metamorphic::steps,
    },
    Property {
        id: "properties/concurrency",
        title: "Requests in flight together are each answered once",
        needs: &[],
        is_mixed: false,
        steps: concurrency::steps,
    },
    Property {
        id: "properties/state",
        title: "Level, brightness, theme and light follow every sequence of commands",
        needs: &["status", "volume"],
        is_mixed: false,
        steps: state::steps,
    },
    Property {
        id: "properties/liveness",
        title: "The device survives long runs of all kinds of input",
        needs: &[],
        is_mixed: true,
        steps: liveness::steps,
    },
];

impl Property {
    /// Parts of it that switch themselves off, because the device lacks what they need.
    pub fn missing(&self, context: &Context) -> Vec<&'static str> {
        match self.id {
            "properties/state" => state::missing(context),
            _ => Vec::new(),
        }
    }

    /// How many inputs it gets where others get so many. One that goes through a table ends with it, and gets more
    /// so as to come to its end.
    pub fn inputs(&self, asked: u32, context: &Context) -> u32 {
        match self.id {
            "properties/positions" => positions::inputs(context).min(asked.saturating_mul(4)),
            "properties/schemas" => schemas::inputs_of(context, asked),
            "properties/state" => state::inputs(context, asked),
            "properties/texts" => texts::inputs(context).min(asked),
            _ => asked,
        }
    }

    /// The place in the message and the kind of value that each step of an input tries, where its steps go through a
    /// table of them.
    pub fn tried(&self, number: u32, context: &Context) -> Vec<(String, &'static str)> {
        match self.id {
            "properties/positions" => positions::tried(context, number),
            _ => Vec::new(),
        }
    }

    /// The property with this id.
    pub fn named(id: &str) -> Option<&'static Self> {
        PROPERTIES.iter().find(|property| property.id == id)
    }
}
