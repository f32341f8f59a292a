package dev.verbena.soft;

/** An XRC domain. */
final class SoftXrcDomain extends SoftObject {
  /** What the file is that the domain is shared by, or null. */
  final Object file;

  SoftXrcDomain(SoftContext context, CStruct struct, Object file) {
    super(context.device, struct);
    this.file = file;
  }
}
