//! The robot that carries the board: many numbers with defaults and ranges, as on the robots of
//! the family. Nothing moves, so that every tool here is safe to call.

use alloc::format;
use alloc::string::ToString;

use super::done;
use crate::console::Level;
use crate::json;
use crate::property::Property;
use crate::registry::{Tool, ToolFailure};

/// Movements that the robot knows.
const ACTIONS: [&str; 7] = ["sit", "stand", "walk", "turn", "wave", "nod", "dance"];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "self.robot.action",
        description: "Let the robot make a movement. Movements are `sit`, `stand`, `walk`, `turn`, `wave`, `nod` and `dance`; \
                      walking and turning take steps, the others ignore them. Speed is the time of one step in \
                      milliseconds, so smaller is faster. Direction 1 is forward or left, -1 is backward or right, 0 is on \
                      the spot. Say what you are going to do before you do it.",
        properties: &[
            Property::text("action", "Which movement.").with_default_text("sit"),
            Property::integer("steps", "How many steps.", 1, 100).with_default_integer(3),
            Property::integer("speed", "Milliseconds of one step.", 100, 3000)
                .with_default_integer(700),
            Property::integer("direction", "1, 0 or -1.", -1, 1).with_default_integer(1),
            Property::integer("amount", "Width of the movement in degrees.", 0, 170)
                .with_default_integer(30),
        ],
        user_only: false,
        handler: |board, arguments, effects| {
            let asked = arguments.text("action");
            let Some(action) = ACTIONS.into_iter().find(|action| *action == asked) else {
                return Err(ToolFailure(format!("Unknown action: {asked}")));
            };
            let steps = u32::try_from(arguments.integer("steps")).unwrap_or_default();
            board.motion.action = action.to_string();
            if matches!(action, "walk" | "turn") {
                board.motion.steps = board.motion.steps.saturating_add(steps);
            }
            effects.log(Level::Info, "Robot", format!("{action}, {steps} steps"));
            done()
        },
    },
    Tool {
        name: "self.robot.stop",
        description: "Stop the movement of the robot at once and let it stand. Use it whenever the user says stop, careful or \
                      anything that sounds like danger; do not ask back first.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.motion.action = "stand".to_string();
            effects.log(Level::Info, "Robot", "stop");
            done()
        },
    },
    Tool {
        name: "self.robot.set_head",
        description: "Turn the head of the robot to an absolute position. Pan is in degrees to the right (negative: to the \
                      left), tilt is in degrees up (negative: down). 0, 0 looks straight ahead. Both are needed; take the \
                      present value from `self.robot.get_pose` for the one that shall stay.",
        properties: &[
            Property::integer("pan", "Degrees to the right.", -90, 90),
            Property::integer("tilt", "Degrees up.", -30, 30),
        ],
        user_only: false,
        handler: |board, arguments, effects| {
            board.motion.pan = i16::try_from(arguments.integer("pan")).unwrap_or_default();
            board.motion.tilt = i16::try_from(arguments.integer("tilt")).unwrap_or_default();
            effects.log(
                Level::Info,
                "Robot",
                format!("head {},{}", board.motion.pan, board.motion.tilt),
            );
            done()
        },
    },
    Tool {
        name: "self.robot.home",
        description: "Bring the robot back to its rest position: sitting, looking straight ahead. Use it at the end of a game, \
                      before the device is carried away, and when the user asks the robot to calm down.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.motion.action = "sit".to_string();
            (board.motion.pan, board.motion.tilt) = (0, 0);
            effects.log(Level::Info, "Robot", "home");
            done()
        },
    },
    Tool {
        name: "self.robot.get_pose",
        description: "Tells what the robot did last, where its head points and how many steps it has walked since it was \
                      started, as JSON. Use it before a movement that depends on the present position.",
        properties: &[],
        user_only: false,
        handler: |board, _, _| {
            let motion = &board.motion;
            Ok(format!(
                r#"{{"action":{},"pan":{},"tilt":{},"steps":{}}}"#,
                json::string(&motion.action),
                motion.pan,
                motion.tilt,
                motion.steps
            ))
        },
    },
    Tool {
        name: "self.robot.say_with_gesture",
        description: "Let the robot underline what is being said with a gesture that fits: `agree`, `doubt`, `greet` or \
                      `think`. The gesture runs beside the speech and ends by itself. Use it sparingly, at most once in an \
                      answer, and never when the user asked the robot to keep still.",
        properties: &[
            Property::text("gesture", "Which gesture.").with_default_text("agree"),
            Property::integer("strength", "How lively it is, in percent.", 0, 100)
                .with_default_integer(50),
        ],
        user_only: false,
        handler: |_, arguments, effects| {
            let strength = arguments.integer("strength");
            effects.log(Level::Info, "Robot", format!("gesture at {strength} percent"));
            done()
        },
    },
];
