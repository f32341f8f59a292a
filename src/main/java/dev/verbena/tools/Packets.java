package dev.verbena.tools;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Raw packets, past the operating system. */
@Command(
    name = "packets",
    header = "Receive or send raw packets, where the device has them.",
    subcommands = {PacketReceive.class, PacketSend.class})
final class Packets implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw Failure.usage(spec, "receive or send?");
  }
}
