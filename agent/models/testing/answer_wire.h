// How the two providers spell an answer on the wire: as a stream of events, or whole.
#ifndef SASSAY_AGENT_MODELS_TESTING_ANSWER_WIRE_H_
#define SASSAY_AGENT_MODELS_TESTING_ANSWER_WIRE_H_

#include <string>
#include <vector>

#include "agent/models/testing/scripted_server.h"

namespace sassay::agent {

// An answer as it is sent.
struct WireAnswer {
  // Events before the text, one for each piece of reasoning and text, and after it; each with its blank line.
  std::vector<std::string> begin;
  std::vector<std::string> pieces;
  std::vector<std::string> end;
  // The answer in one JSON document.
  std::string whole;
  // An event that tells an error.
  std::string error_event;
};

WireAnswer SpellAnswer(const AnswerRequest& request, const ScriptedAnswer& answer);

// The JSON body that goes with an HTTP error.
std::string SpellError(AnswerRequest::Wire wire, int status);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_TESTING_ANSWER_WIRE_H_
