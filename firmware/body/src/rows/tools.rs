//! Tools that rows add to the device: what its own do not have.

use reference_device::{Property, Tool};

use crate::defect::Defect;
use crate::prelude::*;

/// Integers below zero, and from below to above it.
pub(crate) const FREEZER: &[Tool] = &[
    Tool {
        name: "self.freezer.set_target",
        description: "Sets how cold the freezer is to be.",
        properties: &[Property::integer("degrees", "In degrees Celsius.", -40, -10)],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
    Tool {
        name: "self.freezer.set_alarm",
        description: "Sets above which temperature the freezer warns.",
        properties: &[
            Property::integer("degrees", "In degrees Celsius.", -30, 5).with_default_integer(-8)
        ],
        user_only: false,
        handler: |_, _, _| Ok("true".to_string()),
    },
];

/// Adds tools to the device.
pub(crate) fn with_tools(layer: Defect, tools: &'static [Tool]) -> Defect {
    layer.setup(move |device| {
        for tool in tools {
            let added = device.registry_mut().add(*tool);
            debug_assert!(added.is_ok(), "{added:?}");
        }
    })
}
