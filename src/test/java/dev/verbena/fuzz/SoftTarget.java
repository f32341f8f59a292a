package dev.verbena.fuzz;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Two networks of two software devices each, with the same names and addresses; those of one have
 * DC. All threads use the objects of both; each finds the devices of one.
 */
final class SoftTarget implements Target {
  private static final List<InetAddress> ADDRESSES =
      List.of(InetAddress.ofLiteral("192.0.2.1"), InetAddress.ofLiteral("192.0.2.2"));

  /** More than an orderly end may take. */
  private static final int ATTEMPTS = 120;

  private final List<SoftNetwork> networks =
      List.of(SoftNetwork.create(), SoftNetwork.create().profile("connectx5"));
  private final List<Device> devices = new ArrayList<>();

  SoftTarget() {
    for (SoftNetwork network : networks) {
      for (int i = 0; i < ADDRESSES.size(); i++) {
        devices.add(network.addDevice("soft" + i, ADDRESSES.get(i)));
      }
    }
  }

  @Override
  public List<Device> devices() {
    return devices;
  }

  @Override
  public List<InetAddress> addresses() {
    return ADDRESSES;
  }

  @Override
  public List<Object> objects() {
    return networks.stream().map(network -> (Object) network.faults()).toList();
  }

  @Override
  public Runnable on(int thread, Runnable calls) {
    SoftNetwork network = networks.get(thread / 2 % networks.size());
    return () -> {
      try {
        network.call(
            () -> {
              calls.run();
              return null;
            });
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    };
  }

  @Override
  public void restore() {
    for (SoftNetwork network : networks) {
      network.faults().none();
      devices.stream()
          .map(Device::name)
          .distinct()
          .filter(name -> isPresent(network, name))
          .forEach(name -> network.faults().portUp(name, 1));
    }
  }

  /** A call may have removed a device. */
  private static boolean isPresent(SoftNetwork network, String name) {
    try {
      return network.call(() -> Device.list()).stream().anyMatch(d -> d.name().equals(name));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() throws InterruptedException {
    List<Map<String, Integer>> open = open();
    for (int i = 0; i < ATTEMPTS && !open.isEmpty(); i++) {
      Await.pass(Duration.ofMillis(100), "channels end in order after they were closed");
      open = open();
    }
    networks.forEach(SoftNetwork::close);
    if (!open.isEmpty()) {
      throw new AssertionError(open.toString());
    }
  }

  private List<Map<String, Integer>> open() {
    return networks.stream()
        .map(SoftNetwork::openObjects)
        .filter(objects -> !objects.isEmpty())
        .toList();
  }
}
