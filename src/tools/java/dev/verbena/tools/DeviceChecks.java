package dev.verbena.tools;

import dev.verbena.VerbsException;
import dev.verbena.address.GidEntry;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.attributes.PortState;
import dev.verbena.attributes.TransportType;
import dev.verbena.tools.output.Units;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** Checks that each device can be opened and used. */
final class DeviceChecks {
  /**
   * The size of a test registration: enough to exceed the default locked-memory limit of
   * distributions.
   */
  private static final long TRIAL = 1 << 20;

  private DeviceChecks() {}

  /** Checks all devices that libibverbs lists, and names those of the kernel that it does not. */
  static List<Check> run(List<String> ofKernel) {
    List<Device> devices;
    try {
      devices = Device.list();
    } catch (VerbsException
        | IllegalArgumentException // A software device that is described wrongly.
        | UnsupportedOperationException
        | IllegalCallerException e) {
      return List.of(Check.problem("listing devices failed: " + e.getMessage(), "see above"));
    }
    List<Check> checks = new ArrayList<>();
    List<String> names = devices.stream().map(Device::name).toList();
    for (String name : ofKernel) {
      if (!names.contains(name)) {
        checks.add(
            Check.problem(
                name
                    + " is listed by the kernel but not by libibverbs: its provider library is"
                    + " missing",
                "install ibverbs-providers (Debian, Ubuntu) or libibverbs (Fedora, RHEL)"));
      }
    }
    if (devices.isEmpty()) {
      checks.add(Check.problem("libibverbs lists no device", "see above"));
    }
    devices.forEach(device -> check(device, checks));
    return checks;
  }

  private static void check(Device device, List<Check> checks) {
    try (Context context = device.open()) {
      checks.add(registration(context));
      checks.add(directDataPath(context));
      for (Port port : context.ports()) {
        checks.add(state(port));
        checks.add(gids(port));
        mtu(port, checks);
      }
    } catch (VerbsException e) {
      checks.add(Check.problem(device + ": " + e.getMessage(), "see the kernel's log: dmesg"));
    }
  }

  private static Check registration(Context context) {
    try (Arena arena = Arena.ofConfined();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      domain.registerMemory(arena.allocate(TRIAL), AccessFlag.LOCAL_WRITE).close();
      return Check.ok(context.device() + " can be opened, and registers " + Units.bytes(TRIAL));
    } catch (VerbsException e) {
      return Check.problem(e.getMessage(), "see Limits above");
    }
  }

  private static Check directDataPath(Context context) {
    return Check.ok(
        context
            .directObstacle()
            .map(reason -> context.device() + " has no direct data path: " + reason)
            .orElse(
                context.device() + " can have the direct data path: -Ddev.verbena.direct=auto"));
  }

  private static Check state(Port port) {
    PortAttributes attributes = port.attributes();
    if (attributes.state() == PortState.ACTIVE) {
      return Check.ok(
          "%s is active: %s, %s %s"
              .formatted(
                  port,
                  attributes.linkLayer().text(),
                  attributes.activeWidth().text(),
                  attributes.activeSpeed().text()));
    }
    return Check.problem(
        port + " is " + attributes.state().text() + " (" + attributes.physicalState().text() + ")",
        attributes.linkLayer() == LinkLayer.INFINIBAND
            ? "check the cable, and that a subnet manager (opensm) runs"
            : "ip link set dev NAME up; check the cable");
  }

  private static Check gids(Port port) {
    List<GidEntry> gids = port.gidTable();
    boolean ethernet = port.attributes().linkLayer() == LinkLayer.ETHERNET;
    boolean roce = port.context().device().transportType() == TransportType.IB && ethernet;
    if (gids.isEmpty() && roce) {
      return Check.problem(
          port + " has no GID", "give its network interface an IP address, and set it up");
    }
    try {
      GidChoice choice = port.chooseGid();
      return Check.ok(
          "%s has %d GIDs; preferred: index %d, %s (%s)"
              .formatted(port, gids.size(), choice.index(), choice.gid(), choice.reason()));
    } catch (IllegalStateException e) {
      return Check.problem(e.getMessage(), "see verbena devinfo");
    }
  }

  private static void mtu(Port port, List<Check> checks) {
    PortAttributes attributes = port.attributes();
    if (attributes.activeMtu().bytes() < attributes.maxMtu().bytes()
        && attributes.linkLayer() == LinkLayer.ETHERNET) {
      checks.add(
          Check.note(
              "%s has an active MTU of %d bytes; its maximum is %d"
                  .formatted(port, attributes.activeMtu().bytes(), attributes.maxMtu().bytes()),
              "ip link set dev NAME mtu 4200 (or 9000), at both ends and on the switch"));
    }
  }
}
