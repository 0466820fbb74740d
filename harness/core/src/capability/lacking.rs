//! What a device lacks, in words: what was looked for, and where.

/// Each capability with how it shows that a device has not got it.
#[rustfmt::skip]
const LACKING: [(&str, &str); 57] = [
    ("both-transports", "this run is over one transport (`--transport both` tries two)"),
    ("websocket", "this run is not over WebSocket"),
    ("mqtt", "this run is not over MQTT"),
    ("hello", "it sent no hello when it connected"),
    ("configured", "it did not request its configuration here, so it was not told what its CONNECT must contain"),
    ("own-broker", "another broker stands between (`--mqtt-broker`)"),
    ("simulated", "it may be a real chip, and this needs a program or an emulator"),
    ("keep-alive", "its CONNECT announces no keep-alive of 5 s or less, which would have to be waited for"),
    ("tools", "tools/list gave no tool"),
    ("pages", "tools/list gave all tools in one page, without a nextCursor"),
    ("user-tools", "tools/list with `withUserTools: true` gave no tool that the list without it lacks"),
    ("status", "it has no self.get_device_status that answers with a JSON object"),
    ("status.tool", "tools/list has no self.get_device_status"),
    ("volume", "tools/list has no self.audio_speaker.set_volume that takes a `volume` from 0 to 100, or the status does not show the volume"),
    ("volume.tool", "tools/list has no self.audio_speaker.set_volume that may be called"),
    ("volume.required", "the schema of self.audio_speaker.set_volume does not list `volume` as required"),
    ("volume.told", "it has no self.audio_speaker.set_volume, or its status is of another form than that of the family"),
    ("volume.elsewhere", "it has no self.audio_speaker.set_volume, or its status shows the volume where the family does"),
    ("volume.step", "tools/list has no volume_up and volume_down that take a `step`"),
    ("volume.step-optional", "tools/list has no volume_up and volume_down that work without a `step`"),
    ("mute", "tools/list has no self.audio_speaker.mute and unmute beside a volume"),
    ("brightness", "tools/list has no self.screen.set_brightness, or the status does not show the brightness"),
    ("theme", "tools/list has no self.screen.set_theme, or the status does not show the theme"),
    ("lamp", "tools/list has no lamp: no tools turn_on, turn_off and get_state of one name"),
    ("nullary", "tools/list has no tool without arguments that is known to do nothing but read"),
    ("integer", "tools/list has no tool whose one required argument is an integer with minimum and maximum"),
    ("integer.state", "the status does not show what the tool with an integer argument sets"),
    ("boolean", "tools/list has no tool whose one required argument is a boolean"),
    ("string", "tools/list has no tool whose one required argument is a string"),
    ("default", "tools/list has no tool whose integer argument has a default"),
    ("told", "no tool was seen to tell what another one sets"),
    ("told.number", "no tool was seen to tell a number above 127 that another one sets"),
    ("told.several", "no tool was seen to tell several arguments that another one sets"),
    ("told.signed", "no tool was seen to tell a number below zero that another one sets"),
    ("enum", "tools/list has no tool with a text argument whose schema has an `enum`"),
    ("length", "tools/list has no tool with a text argument whose schema limits its length"),
    ("structured", "tools/list has no tool with an argument that is a number, an array or an object"),
    ("console", "no line of a console was seen"),
    ("console.boot", "the console did not show the whole boot"),
    ("console.mcp", "the console showed no line of the tag `MCP`"),
    ("console.tools", "the console showed no line `MCP: Add tool:` of the boot"),
    ("reconnect", "it was not seen to connect again by itself after its connection was closed"),
    ("notifications", "it has sent no notification"),
    ("reinitialize", "it did not accept a second initialize in one session"),
    ("token", "it was given no token (`--token`), and did not request its configuration"),
    ("sut.gateway", "it is a device, and this is for gateways (`--sut gateway`)"),
    ("bootstrap", "it did not request its configuration from the address in MCP_HIL_OTA_URL"),
    ("reconfigure", "it did not request its configuration here, or cannot be restarted by the harness"),
    ("camera", "tools/list has no self.camera.take_photo with a `question` that may be called"),
    ("camera.untold", "it has no camera that may be used, or was told where pictures go before"),
    ("channel", "it has sent no audio over UDP"),
    ("memory", "its console has not told its free memory often enough"),
    ("echo", "no tool gave back a text that it was given"),
    ("claims", "its answer to initialize claims neither `resources` nor `prompts`"),
    ("progress", "it has sent no notifications/progress"),
    ("requests", "it has sent no request of its own"),
    ("listen", "it has sent no message of type listen or abort by itself"),
];

/// How it was looked for what a device has not got; `None` of what a run decides.
pub fn lacking(capability: &str) -> Option<&'static str> {
    LACKING.iter().find(|(name, _)| *name == capability).map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::super::{ALL, LINGER, SILICON};
    use super::*;

    #[test]
    fn every_capability_is_told_in_words_when_it_is_lacking() {
        let own: Vec<&str> = ALL.into_iter().filter(|name| lacking(name).is_none()).collect();
        assert_eq!(own, [SILICON, LINGER]);
        assert_eq!(LACKING.len() + own.len(), ALL.len());
    }
}
