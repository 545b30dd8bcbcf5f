//! The Lua that runs the twins: one in this process, or that of a real server.

use std::ops::Range;

use mlua::{Function, Lua, Table};
use tollgate_core::algorithm::twin;
use tollgate_servers::{Client, Server, Value};

/// A function, a piece of its text, and what stands there instead.
#[derive(Clone, Debug)]
pub struct Change {
    pub function: &'static str,
    pub piece: Range<usize>,
    pub instead: &'static str,
}

/// What is run for each record.
pub struct Program {
    pub rule: &'static str,
    /// Defines `local function answer`, from the numbers of one record to all that is answered. What
    /// it keeps lasts for one batch.
    pub driver: String,
    /// How many numbers `answer` takes.
    pub asked: usize,
    /// The functions of the rule whose answers are returned, each with how many numbers these are.
    pub answers: &'static [(&'static str, usize)],
}

impl Program {
    /// How many numbers `answer` returns.
    pub fn answered(&self) -> usize {
        self.answers.iter().map(|(_, numbers)| numbers).sum()
    }

    /// The twins as they are shipped, or with one change, and the driver.
    fn text(&self, change: Option<&Change>) -> String {
        let mut script = String::new();
        for (name, text) in twin::functions() {
            let mut text = text.to_owned();
            if let Some(change) = change.filter(|change| change.function == name) {
                text.replace_range(change.piece.clone(), change.instead);
            }
            script.push_str(&text);
        }
        script + &self.driver
    }
}

/// A Lua in which a program is loaded.
pub enum Machine {
    Embedded { lua: Lua, run: Function },
    Served { client: Client, script: String },
}

impl Machine {
    /// Lua 5.1 in this process.
    pub fn embedded(program: &Program, change: Option<&Change>) -> Result<Machine, String> {
        let (asked, answered) = (program.asked, program.answered());
        let slots: Vec<_> = (1..=answered).map(|slot| format!("words[n + {slot}]")).collect();
        let each_record = format!(
            "return function(asked, length)
               local words, n = {{}}, 0
               for at = 1, length, {asked} do
                 {} = answer(unpack(asked, at, at + {asked} - 1))
                 n = n + {answered}
               end
               return words
             end",
            slots.join(", "),
        );
        let lua = Lua::new();
        let chunk = lua.load(program.text(change) + &each_record).set_name("twins");
        let run = chunk.eval().map_err(|error| error.to_string())?;
        Ok(Machine::Embedded { lua, run })
    }

    /// The Lua of a real server, with numbers packed as the store packs them.
    pub fn served(server: &Server, program: &Program, change: Option<&Change>) -> Machine {
        let (asked, answered) = (program.asked, program.answered());
        let each_record = format!(
            "local words = {{}}
             for at = 1, #ARGV[1], {asked} * 8 do
               words[#words + 1] = struct.pack('<{}', answer(struct.unpack('<{}', ARGV[1], at)))
             end
             return table.concat(words)",
            "d".repeat(answered),
            "d".repeat(asked),
        );
        let script = program.text(change) + &each_record;
        Machine::Served { client: server.client(), script }
    }

    /// What Lua answers to these records; an error when it cannot.
    pub fn answer(&mut self, asked: &[f64]) -> Result<Vec<f64>, String> {
        match self {
            Machine::Embedded { lua, run } => {
                let table = lua.create_sequence_from(asked.iter().copied());
                let words = table.and_then(|table| run.call::<Table>((table, asked.len())));
                let words = words.and_then(|words| words.sequence_values().collect());
                words.map_err(|error| error.to_string())
            }
            Machine::Served { client, script } => {
                let packed: Vec<u8> = asked.iter().flat_map(|word| word.to_le_bytes()).collect();
                match client.command(&[b"EVAL", script.as_bytes(), b"0", &packed]) {
                    Ok(Value::Bulk(words)) => {
                        let words = words.chunks(8).map(|word| word.try_into().unwrap());
                        Ok(words.map(f64::from_le_bytes).collect())
                    }
                    Ok(other) => Err(other.text()),
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }
}
