package dev.verbena.programs;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Link;
import dev.verbena.tools.command.PairOptions;
import dev.verbena.tools.command.Tracing;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.ReceiveList;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The example of the manual page of {@code ibv_wr_post}, between two queue pairs of its own. */
@Command(
    name = "batch",
    header = "Two writes through the ibv_wr_* interface, with one completion.",
    description = {
      "The second write has the immediate data 0x1234, which the peer receives in a completion;",
      "the first one generates no completion at the peer."
    },
    footerHeading = Cli.EXAMPLES,
    footer = "  programs batch --device udp:127.0.0.1")
final class Batch implements Callable<Integer> {
  private static final int SIZE = 4096;
  private static final int HALF = SIZE / 2;
  private static final int NUMBER = 0x1234;

  @Spec private CommandSpec spec;

  @Mixin private PairOptions devices;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private Tracing tracing;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    try (Link here =
            new Link(
                devices.device(),
                SIZE,
                1,
                SendOperation.RDMA_WRITE,
                SendOperation.RDMA_WRITE_WITH_IMM);
        Link there = new Link(devices.peerDevice(), SIZE, 1)) {
      here.queuePair().connect(there.address());
      there.queuePair().connect(here.address());
      there.post(new ReceiveList(1, 1)); // For the immediate data, which needs no memory.
      here.buffer().setString(0, "the first write");
      here.buffer().setString(HALF, "the second write");
      out.println("posted: " + post(here, there) + " requests");
      here.await(1);
      out.println("completed: request " + here.completions().id(0));
      there.await(1);
      out.printf("immediate data received: 0x%x%n", there.completions().immediate(0));
      out.println("peer's memory: " + there.buffer().getString(0));
      out.println("               " + there.buffer().getString(HALF));
    }
    return 0;
  }

  private static int post(Link here, Link there) {
    int rkey = there.region().rkey();
    long address = there.region().start();
    try (Posting posting = here.queuePair().startPosting()) {
      posting.write(address, rkey).id(1).local(here.region(), 0, HALF);
      posting
          .writeWithImmediate(address + HALF, rkey, NUMBER)
          .id(2)
          .signaled()
          .local(here.region(), HALF, HALF);
      return posting.complete();
    }
  }
}
