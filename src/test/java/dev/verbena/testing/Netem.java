package dev.verbena.testing;

import java.util.List;

/** Faults of the cable between the devices of the lab, by the queueing discipline {@code netem}. */
public final class Netem {
  private static final String NETDEV_B = "VERBENA_NETDEV_B";

  private Netem() {}

  /** Something that is done over the network. */
  public interface Task {
    /** Does it. */
    void run() throws Exception;
  }

  /** Does something while packets fare badly in both directions. */
  public static void under(String fault, Task task) throws Exception {
    List<String> netdevs = List.of(Rig.netdevA(), System.getenv(NETDEV_B));
    try {
      for (String netdev : netdevs) {
        run("tc qdisc add dev " + netdev + " root netem " + fault);
      }
      task.run();
    } finally {
      for (String netdev : netdevs) {
        run("tc qdisc del dev " + netdev + " root");
      }
    }
  }

  private static void run(String command) throws Exception {
    try (Program program = Program.start(List.of(command.split(" ")))) {
      program.endsWell();
    }
  }
}
