// The states of an automaton, made from an expression.
#pragma once

#include <vector>

#include "models/grammar/syntax.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// Error{unsupported} of more states than kMaxTextStates.
[[noreturn]] void fail_text_states();

// The states of TextAutomaton(texts, steps), those that lead nowhere among them.
std::vector<TextAutomaton::State> states_of_texts(const Expression& texts, AutomatonSteps& steps);

}  // namespace hearth::models::grammar
