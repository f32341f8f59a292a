package dev.verbena.cm;

import dev.verbena.RdmaException;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.RdmaResources;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;

/**
 * Has 20 connections on a device that is removed, closes them, and makes them again when the device
 * is back. Arguments: the name of the device, and its address.
 */
final class LostDeviceMain {
  static final String READY = "20 connections";
  static final String CLOSED = "closed";
  static final String DONE = "20 connections again";
  private static final int CONNECTIONS = 20;
  private static final ConnectionSettings SETTINGS =
      ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT);

  private final InetAddress address;

  private LostDeviceMain(InetAddress address) {
    this.address = address;
  }

  public static void main(String[] args) throws Exception {
    LostDeviceMain program = new LostDeviceMain(InetAddress.getByName(args[1]));
    program.connect(1, List.of()); // Opens what a process opens once.
    Map<String, Integer> objects = RdmaResources.now();
    List<String> descriptors = Descriptors.ofRdma();
    program.connect(
        CONNECTIONS,
        List.of(
            () -> System.out.println(READY),
            () -> Await.until("the removal", () -> !isPresent(args[0]))));
    System.out.println(CLOSED + ", descriptors " + Descriptors.ofRdma().size());
    Await.until("the return", () -> isPresent(args[0]));
    program.connectWhenPossible();
    RdmaResources.requireNoMoreThan(objects);
    if (Descriptors.ofRdma().size() != descriptors.size()) {
      throw new AssertionError(descriptors + " became " + Descriptors.ofRdma());
    }
    System.out.println(DONE);
  }

  private static boolean isPresent(String device) {
    return Device.list().stream().anyMatch(d -> d.name().equals(device));
  }

  /** The device is listed before its GID table has the address. */
  private void connectWhenPossible() throws Exception {
    while (true) {
      try {
        connect(CONNECTIONS, List.of());
        return;
      } catch (RdmaException e) {
        System.out.println("not yet: " + e.getMessage());
      }
    }
  }

  /** Makes connections, sends a message on each, and closes them. */
  private void connect(int count, List<Runnable> meanwhile) throws Exception {
    List<Connection> ends = new ArrayList<>();
    try (Listener listener = Listener.open(new InetSocketAddress(address, 0))) {
      try {
        for (int i = 0; i < count; i++) {
          FutureTask<Connection> accepting =
              new FutureTask<>(() -> Connection.accept(listener, SETTINGS));
          Thread.ofPlatform().start(accepting);
          ends.add(Connection.connect(new InetSocketAddress(address, listener.port()), SETTINGS));
          ends.add(accepting.get());
          ends.get(2 * i).send(new byte[] {(byte) i});
          if (ends.get(2 * i + 1).receive()[0] != (byte) i) {
            throw new AssertionError("another message");
          }
        }
        meanwhile.forEach(Runnable::run);
        if (!meanwhile.isEmpty()) {
          requireRemoval(listener);
        }
      } finally {
        ends.forEach(Connection::close);
      }
    }
  }

  private static void requireRemoval(Listener listener) throws InterruptedException {
    for (int i = 0; i < 2; i++) {
      try {
        listener.take();
        throw new AssertionError("a request on a device that was removed");
      } catch (ConnectionException e) {
        if (e.event().type() != EventType.DEVICE_REMOVAL) {
          throw e;
        }
      }
    }
  }
}
