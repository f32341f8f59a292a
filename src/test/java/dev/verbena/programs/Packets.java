package dev.verbena.programs;

import dev.verbena.tools.command.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Raw packets, which bypass the kernel's network stack. */
@Command(
    name = "packets",
    header = "Receive or send raw packets, on devices that support them.",
    subcommands = {PacketReceive.class, PacketSend.class})
final class Packets implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw Failure.usage(spec, "missing command: receive or send");
  }
}
