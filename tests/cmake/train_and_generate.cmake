# Trains a little with PROGRAM on the CPU and on DEVICE, and lets both write: equal losses, and equal
# texts of equal weights.
function(hearth result)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " words)
    message(FATAL_ERROR "hearth ${words}: status ${status}\n${output}\n${errors}")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
set(text "")
foreach(i RANGE 200)
  math(EXPR number "${i} % 17")
  string(APPEND text "the ${number} quick foxes jump. ")
endforeach()
file(WRITE "${WORK_DIR}/text" "${text}")

hearth(listed devices -v)
if(NOT listed MATCHES "${DEVICE}")
  message(FATAL_ERROR "no device ${DEVICE}\n${listed}")
endif()
foreach(device cpu ${DEVICE})
  hearth(output train --text "${WORK_DIR}/text" --out "${WORK_DIR}/${device}" --device ${device}
    --steps 30 --layers 1 --dim 16 --heads 2 --context 16 --batch 4 --lr 0.01
    --checkpoint-every 10)
  if(NOT output MATCHES "train: steps=30 held_out=([0-9]+)\\.([0-9]+) ")
    message(FATAL_ERROR "no loss on ${device}\n${output}")
  endif()
  set(loss_${device} "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")  # in units of 0.0001
  hearth(text_${device} generate --model "${WORK_DIR}/cpu" --device ${device} --tokens 60
    --prompt "the 3" --temperature 1 --seed 1)
endforeach()

math(EXPR difference "${loss_${DEVICE}} - ${loss_cpu}")
if(difference GREATER 10 OR difference LESS -10)
  message(FATAL_ERROR "other losses; got ${loss_${DEVICE}}, expected ${loss_cpu} (0.0001)")
endif()
if(NOT text_${DEVICE} STREQUAL text_cpu)
  message(FATAL_ERROR "other texts; got ${text_${DEVICE}}, expected ${text_cpu}")
endif()
# What was trained on the device is a model, too.
hearth(text generate --model "${WORK_DIR}/${DEVICE}" --device ${DEVICE} --tokens 8 --prompt "the 3")
string(STRIP "${text}" text)
if(NOT text MATCHES "^the 3.")
  message(FATAL_ERROR "nothing behind the prompt: ${text}")
endif()
