ALTER TABLE `books` ADD `language` text DEFAULT 'de' NOT NULL;--> statement-breakpoint
CREATE INDEX `books_language` ON `books` (`language`,`title`);
