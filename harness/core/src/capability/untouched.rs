//! Tools that would test more of a device if they might be called.

use serde_json::Value;

use super::{Candidate, Permission, is_setting};
use crate::bounds::bounds;

/// The tools that would bring a device a capability, and are not called because their names do not tell that they are
/// harmless. Those that somebody has ruled out are none of them.
pub fn untouched(tools: &[Value], permission: &Permission, capability: &str) -> Vec<String> {
    let is_called = |name: &str| {
        permission.allows(name) && (is_setting(name) || permission.names(name))
            || permission.denies(name)
    };
    let would_do = |tool: &Candidate<'_>| match capability {
        "nullary" => tool.properties.is_empty(),
        "boolean" | "string" => tool.only_required(capability).is_some(),
        "integer" => tool.only_required("integer").is_some_and(|(_, schema)| {
            let [low, high] = bounds(schema);
            low.zip(high).is_some_and(|(low, high)| low < high)
        }),
        "default" => tool.only_default("integer").is_some(),
        _ => false,
    };
    let tools = tools.iter().filter_map(Candidate::of);
    let untouched = tools.filter(|tool| would_do(tool) && !is_called(&tool.name));
    untouched.map(|tool| tool.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Trust;
    use serde_json::json;

    #[test]
    fn a_tool_that_may_not_be_called_is_named_for_what_it_takes() {
        let tool = |name: &str, kind: &str| {
            json!({"name": name, "inputSchema": {"type": "object",
                "properties": {"x": {"type": kind}}, "required": ["x"]}})
        };
        let tools = [
            tool("self.echo", "string"),
            tool("self.lights.set_name", "string"),
            tool("self.reboot", "string"),
            tool("self.fan.turn", "boolean"),
        ];
        let mut permission = Permission::from(Trust::Simulated);
        permission.deny = vec!["self.reboot".into()];
        let told = |permission: &Permission, kind| untouched(&tools, permission, kind);
        assert_eq!(told(&permission, "string"), ["self.echo"]);
        assert_eq!(told(&permission, "boolean"), ["self.fan.turn"]);
        assert_eq!(told(&permission, "integer"), [""; 0]);
        assert_eq!(told(&permission, "volume"), [""; 0]);
        permission.allow = vec!["self.echo".into()];
        assert_eq!(told(&permission, "string"), [""; 0]);
    }
}
