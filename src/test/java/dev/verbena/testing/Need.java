package dev.verbena.testing;

/** What a test needs besides an RDMA device: see {@link Needs}. */
public enum Need {
  /** RDMA CM. */
  CM("RDMA CM"),

  /** The other end is a C program or another JVM. */
  PEERS("devices that other processes reach"),

  /** Network interfaces, network namespaces, modules and files of the kernel. */
  KERNEL("devices of the kernel, with network interfaces"),

  /** One network namespace has all devices: they can become exclusive to others. */
  ONE_HOST("one network namespace with devices"),

  /** Two network namespaces, each with a device. */
  TWO_HOSTS("two network namespaces, each with a device"),

  /** The test starts a JVM that opens the devices, too, with the options of this one. */
  JVMS("devices and options that a JVM started by the test has, too"),

  /** Addresses of IPv4 and of IPv6, and so several GIDs. */
  ADDRESSES("several addresses at each device"),

  /** A wire that neither allocates nor is slower than the sender. */
  WIRE("a wire other than a UDP socket of this JVM"),

  /** File descriptors, and selectors, which use them. */
  DESCRIPTORS("file descriptors, which software devices have on Linux only"),

  /** Copies by the kernel, which report memory that does not exist. */
  CHECKED_COPIES("Linux to copy from and to memory that does not exist"),

  /** Other functions of Linux. */
  LINUX("functions of Linux"),

  /**
   * Both devices work alike. Of two devices of which one is Soft-RoCE and the other over UDP, one
   * knows no Ethernet addresses, and they compute the ICRC of a FLUSH over different bytes: see
   * docs/soft-roce.md.
   */
  ONE_KIND("two devices of one kind"),

  /** Functions of C that a queue posted to and polled by Java code does not support. */
  C_QUEUES("queues that are posted to and polled by C functions"),

  /** The test takes minutes: {@code -Dverbena.by.hand=true} runs it. */
  BY_HAND("somebody who runs it by hand, src/lab/README.md");

  private final String text;

  Need(String text) {
    this.text = text;
  }

  @Override
  public String toString() {
    return text;
  }
}
