package dev.verbena.tools;

import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.HostDevices;
import dev.verbena.tools.command.UdpDevice;
import dev.verbena.tools.output.Json;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Writes the attributes of devices, as ibv_devinfo -v and show_gids print them. */
@Command(
    name = "devinfo",
    header = "Show devices, their ports and GIDs, and their capabilities.",
    description = "Names are those of ibv_devinfo -v; the GID table is that of show_gids.",
    footerHeading = Cli.EXAMPLES,
    footer = {"  verbena devinfo -d mlx5_0", "  verbena devinfo --device udp:127.0.0.1 --json"})
final class DevInfo implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = {"-d", "--ib-dev", UdpDevice.OPTION},
      paramLabel = "DEVICE",
      description = "One device, or udp:ADDRESS; default: all.")
  private String name;

  @Option(
      names = {"-l", "--list"},
      description = "Device names only.")
  private boolean list;

  @Option(names = "--json", description = "Write JSON.")
  private boolean json;

  @Override
  public Integer call() {
    List<Device> devices = name == null ? HostDevices.all() : List.of(HostDevices.orFirst(name));
    PrintWriter out = spec.commandLine().getOut();
    if (list) {
      devices.forEach(device -> out.println(device.name()));
      return 0;
    }
    List<Map<String, Object>> reports = new ArrayList<>();
    for (Device device : devices) {
      try (Context context = device.open()) {
        reports.add(DeviceReport.of(context));
      }
    }
    if (json) {
      out.println(Json.of(reports));
    } else {
      reports.forEach(report -> Outline.print(report, out));
    }
    return 0;
  }
}
