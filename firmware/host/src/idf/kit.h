// What the parts of the runtime know of each other. The firmware does not see this header.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kit {

/// Prints a line exactly as it is, in one piece.
void print(const std::string& line);

/// For signal handlers: no allocation, no locks.
void print_raw(const char* text);

/// When the device came out of reset.
std::chrono::steady_clock::time_point booted();

/// A moment `ticks` ahead; `never` says whether that is no moment at all.
std::chrono::steady_clock::time_point after_ticks(uint32_t ticks, bool& never);

/// An environment variable, or the given text where it is missing or empty.
std::string environment(const char* name, const char* otherwise = "");

/// The first bytes of the memory below a task's stack, and the task's name: for the handler of
/// SIGSEGV. Null where the address belongs to no guard.
const char* task_whose_stack_ended_at(const void* address);
const char* current_task_name();
/// A device that deletes a task stops it at once; here it stops at its next wait.
void stop_if_deleted();

void install_panic_handlers();
/// Each thread needs memory of its own for signal handlers: a full stack cannot run one.
void use_alternate_signal_stack();

void nvs_flush();
/// Whether the firmware opened this namespace for writing since it started.
bool nvs_written_namespace(const char* name);

std::array<uint8_t, 32> sha256_of_file(const char* path);
const std::string& elf_sha256();
void print_boot_banner();
void remember_arguments(char** arguments);

/// From here on MCP_HIL_HEAP holds, and what is allocated counts.
void start_counting_heap();

void press_button_in_background();

}  // namespace kit
