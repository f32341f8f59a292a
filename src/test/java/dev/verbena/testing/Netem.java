package dev.verbena.testing;

import java.io.IOException;
import java.util.List;

/** Faults of the cable between the devices of the lab, by the queueing discipline {@code netem}. */
public final class Netem {
  /** Loss; packets out of order; delay. */
  public static final List<String> FAULTS =
      List.of("loss 5%", "delay 5ms reorder 25% 50%", "delay 50ms");

  private static final String NETDEV_B = "VERBENA_NETDEV_B";

  private Netem() {}

  /** Something that is done over the network. */
  public interface Task {
    /** Does it. */
    void run() throws Exception;
  }

  /** Does something while packets fare badly in both directions. */
  public static void under(String fault, Task task) throws Exception {
    under(netdevs(), fault, task);
  }

  /**
   * Does something while packets of device B fare badly, but none to it. A program of C whose last
   * message is not acknowledged waits for ever on Soft-RoCE: it sets a retry count of 7.
   */
  public static void underFromB(String fault, Task task) throws Exception {
    under(List.of(netdevB()), fault, task);
  }

  private static void under(List<String> netdevs, String fault, Task task) throws Exception {
    try {
      begin(netdevs, fault);
      task.run();
    } finally {
      end(netdevs);
    }
  }

  /** Packets fare badly in both directions until {@link #end}. */
  public static void begin(String fault) throws IOException, InterruptedException {
    begin(netdevs(), fault);
  }

  /** The cable is good again. */
  public static void end() throws IOException, InterruptedException {
    end(netdevs());
  }

  private static void begin(List<String> netdevs, String fault)
      throws IOException, InterruptedException {
    for (String netdev : netdevs) {
      run("tc qdisc add dev " + netdev + " root netem " + fault);
    }
  }

  private static void end(List<String> netdevs) throws IOException, InterruptedException {
    for (String netdev : netdevs) {
      run("tc qdisc del dev " + netdev + " root");
    }
  }

  private static List<String> netdevs() {
    return List.of(Rig.netdevA(), netdevB());
  }

  private static String netdevB() {
    return System.getenv(NETDEV_B);
  }

  private static void run(String command) throws IOException, InterruptedException {
    try (Program program = Program.start(List.of(command.split(" ")))) {
      program.endsWell();
    }
  }
}
