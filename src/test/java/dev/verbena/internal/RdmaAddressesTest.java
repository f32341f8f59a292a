package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which addresses have an RDMA device, by folders as sysfs has them. */
@Tag("host")
class RdmaAddressesTest {
  private static final InetAddress LOCAL = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress ANY = InetAddress.ofLiteral("0.0.0.0");

  /** For documentation: this host has a route there at most by another interface than lo. */
  private static final InetAddress FAR = InetAddress.ofLiteral("192.0.2.77");

  @TempDir private Path classes;

  private void write(String file, String text) throws IOException {
    Path path = classes.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  private boolean reaches(InetAddress host, InetAddress local) {
    return new RdmaAddresses(classes).reach(host, local);
  }

  private static String loopback() throws IOException {
    return NetworkInterface.getByInetAddress(LOCAL).getName();
  }

  @Test
  void withoutDevicesNothingIsReached() throws Exception {
    assertFalse(reaches(LOCAL, null));
    assertFalse(reaches(ANY, null));
    Files.createDirectories(classes.resolve("infiniband"));
    assertFalse(reaches(LOCAL, null));
  }

  @Test
  void interfacesOfGidsReachWhatIsRoutedByThem() throws Exception {
    write("infiniband/rxe0/ports/1/gid_attrs/ndevs/0", loopback() + "\n");
    Files.createDirectories(classes.resolve("infiniband/rxe0/ports/1/gid_attrs/ndevs/1"));
    assertTrue(reaches(LOCAL, null));
    assertTrue(reaches(InetAddress.ofLiteral("127.0.0.9"), null), "by the route");
    assertTrue(reaches(FAR, LOCAL), "the own address counts");
    assertFalse(reaches(FAR, null));
    assertFalse(reaches(LOCAL, FAR));
    assertTrue(reaches(LOCAL, ANY));
    assertTrue(reaches(ANY, null));
  }

  @Test
  void otherInterfacesReachNothing() throws Exception {
    write("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "enp1s0f0np0\n");
    write("infiniband/mlx5_0/ports/1/gid_attrs/types/0", loopback() + "\n");
    write("net/" + loopback() + "/type", "772\n");
    assertFalse(reaches(LOCAL, null));
    assertFalse(reaches(ANY, null));
  }

  @Test
  void ipOverInfiniBandHasADevice() throws Exception {
    Files.createDirectories(classes.resolve("infiniband/mlx5_0/ports/1"));
    write("net/" + loopback() + "/type", "32\n");
    assertTrue(reaches(LOCAL, null));
  }

  @Test
  void deviceThatIsBeingRemovedHidesNoOther() throws Exception {
    Files.createDirectories(classes.resolve("infiniband/gone0"));
    write("infiniband/gone1/ports", "");
    Files.createDirectories(classes.resolve("infiniband/gone2/ports/1"));
    write("infiniband/rxe0/ports/1/gid_attrs/ndevs/0", loopback() + "\n");
    assertTrue(reaches(LOCAL, null));
  }

  @Test
  void addedDeviceIsNoticed() throws Exception {
    RdmaAddresses addresses = new RdmaAddresses(classes);
    assertEquals(false, addresses.reach(LOCAL, null));
    write("infiniband/rxe0/ports/1/gid_attrs/ndevs/0", loopback() + "\n");
    while (!addresses.reach(LOCAL, null)) {
      Thread.onSpinWait();
    }
  }
}
